"""Formats with small fields, for proofs."""

import pytest

from firmware_models.abi.formats import WIRE


def test_widths() -> None:
    small = WIRE.narrowed({"job_id": 1, "seq_id": 2})
    assert (small.job_bits, small.seq_bits, small.node_bits) == (1, 2, WIRE.node_bits)
    assert small.packet_header["job_id"].width == small.descriptor["job_id"].width == 1
    assert WIRE.job_bits == 8


def test_a_name_that_no_field_has() -> None:
    """It would leave the field wide, and the proof slow, without a word."""
    with pytest.raises(ValueError, match=r"^widths must be of fields of these formats, not of \['jobid'\]$"):
        WIRE.narrowed({"jobid": 1, "seq_id": 2})
