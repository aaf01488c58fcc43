"""Benches of the DMA engine."""
