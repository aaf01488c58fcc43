"""A golden model behind ``rtl.cou.unit_signature.OffloadUnitSignature``: it plays a unit, and checks one."""
