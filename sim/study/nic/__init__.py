"""Studies of the NIC paper: collectives beside hosts (figures 5 and 6), occupancy of packet buffers (table 1)."""
