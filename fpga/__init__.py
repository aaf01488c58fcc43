"""Boards and open FPGA flows."""
