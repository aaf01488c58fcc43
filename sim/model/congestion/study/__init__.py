"""Studies of congestion control, the papers' experiments: two flows, two switches, 320 hosts, collectives."""
