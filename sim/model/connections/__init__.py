"""Figures of connections as plain values, for `conic connections` and the study of them."""
