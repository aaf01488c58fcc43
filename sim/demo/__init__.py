"""What `conic demo` shows: a statistic of a real data set, all-reduced on the RTL."""
