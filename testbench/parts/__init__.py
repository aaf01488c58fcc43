"""Small parts in Amaranth's own simulator: what drives them, and stand-ins for what is around them."""
