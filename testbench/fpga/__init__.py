"""Benches of the self-test design's units."""
