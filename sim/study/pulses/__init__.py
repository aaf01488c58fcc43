"""Study of the size of pulses and of packets in flight."""
