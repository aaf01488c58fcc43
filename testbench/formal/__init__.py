"""Formal proofs of small instances of the RTL: contracts, deliberate defects, and the run of both (``docs/formal.md``)."""
