"""Study of faults: goodput under errors, outages, what becomes of every fault."""
