"""Benches of the NIC and its register file."""
