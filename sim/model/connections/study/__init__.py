"""Study of connection memory: the paper's numbers, memory by processes, group sizes, runs."""
