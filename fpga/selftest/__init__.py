"""The self-test design: NICs, a switch and host memories in one FPGA, driven over a UART. See ``docs/fpga.md``."""
