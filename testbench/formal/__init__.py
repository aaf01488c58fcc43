"""Formal proofs of small instances of the RTL: contracts, deliberate defects, the run of both (``docs/formal.md``)."""
