"""Study of equal bits: orders, stalls, pulse sizes, mixes of jobs."""
