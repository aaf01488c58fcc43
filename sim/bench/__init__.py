"""Units of the hardware against the figures that they must reach."""
