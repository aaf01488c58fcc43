"""A small cluster as one flat design, under cocotb: what the cluster simulator is compared with."""
