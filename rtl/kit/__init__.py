"""Stream parts that every block is made from: buffers, register stages, arbiters, the AXI4-Lite front."""
