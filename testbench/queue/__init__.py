"""Benches of the queues: a host driver in Python, stand-ins for the offload units and the point-to-point block."""
