"""Demonstration of `conic demo`: a statistic of a real data set, all-reduced on the RTL."""
