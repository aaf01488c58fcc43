"""Queues between host and NIC: descriptor rings, completion rings, the records of the virtual ports."""
