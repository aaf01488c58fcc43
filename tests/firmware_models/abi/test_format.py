"""The codec of the formats: round trips, positions, and what is refused."""

import random

import pytest

from firmware_models.abi.format import Field, Format, FormatError, reserved
from firmware_models.abi.formats import DESCRIPTOR, FORMATS, PACKET_HEADER


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_round_trip(fmt):
    """Unpacking gives the values that were packed, at the extremes of every field and at random."""
    rng = random.Random(fmt.name)
    for choose in (lambda _: 0, lambda field: field.max_value, lambda field: rng.getrandbits(field.width)):
        values = {
            field.name: rng.choice(list(field.values)) if field.values else choose(field)
            for field in fmt.fields if not field.is_reserved
        }
        raw = fmt.pack(**values)
        assert len(raw) == fmt.bytes
        unpacked = fmt.unpack(raw)
        assert {name: unpacked[name] for name in values} == values
        assert not any(value for name, value in unpacked.items() if name.startswith("reserved_"))


def test_widths_of_the_paper():
    """JobID 8, NodeID 24, VP 11 and SeqID 5 bits (NIC paper, section 1.2)."""
    widths = {name: PACKET_HEADER[name].width for name in ("job_id", "dest_id", "dest_vp", "seq_id")}
    assert widths == {"job_id": 8, "dest_id": 24, "dest_vp": 11, "seq_id": 5}
    assert DESCRIPTOR.bytes == 128
    assert PACKET_HEADER.bytes == 32


def test_figure_2():
    """The descriptor has every field of the paper's figure 2."""
    fields = (
        "c ch ct cp cp_count swap_local_data swap_local_vp swap_remote_data swap_remote_addr reduce_flag coll_end_flag "
        "dest_id source_vp dest_vp job_id payload"
    )
    for name in fields.split():
        assert DESCRIPTOR[name]


@pytest.mark.parametrize(("values", "message"), [
    ({"job_id": 256}, "descriptor.job_id must be 0 to 255, not 256"),
    ({"job_id": -1}, "descriptor.job_id must be 0 to 255, not -1"),
    ({"kind": 2}, "descriptor.kind must be one of 0 (MP), 1 (RDMA), not 2"),
    ({"reserved_0": 1}, "descriptor.reserved_0 must be 0, not 1"),
    ({"jobid": 1}, "descriptor has no field 'jobid'"),
])
def test_refused(values, message):
    """The message names format, field, what is allowed and the value."""
    with pytest.raises(FormatError) as caught:
        DESCRIPTOR.pack(**values)
    assert str(caught.value) == message


def test_wrong_size():
    """Bytes of another number are no encoding."""
    with pytest.raises(FormatError, match="descriptor must be 128 bytes, not 127"):
        DESCRIPTOR.unpack(bytes(127))


def test_straddling_is_refused():
    """A field must not straddle a word; a format is whole words."""
    with pytest.raises(ValueError, match="must not straddle a word at bit 60"):
        Format("x", "", (Field("a", 60, ""), Field("b", 8, ""), reserved(0, 60)))
    with pytest.raises(ValueError, match="must be a whole number of words, not 60 bits"):
        Format("x", "", (Field("a", 60, ""),))
