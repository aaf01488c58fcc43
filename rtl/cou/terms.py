"""Checksum, carried by every packet of an operation, of the settings in which its participants have to agree."""

from amaranth import Cat, Const, Value

from firmware_models.abi.formats import TERMS_BITS


def terms_of(packet) -> Value:
    """Those that the header of a COLLECTIVE packet brings; with SwapRemoteAddr it has no room for them."""
    return packet.addr[:TERMS_BITS]


def differ(packet, ours) -> Value:
    """High if the packet is of another operation than the one with the terms `ours`. Without terms nothing differs."""
    theirs = terms_of(packet)
    return (theirs != ours) & (theirs != 0) & (ours != 0) & ~packet.swap_addr


def terms_detail(source_id, theirs, pulse, *, waited: int) -> Value:
    """The `detail` of BAD_TERMS; `waited`: the operation waited, for a packet that is not this one."""
    known = len(source_id) + TERMS_BITS + 1
    return Cat(source_id, theirs, Const(waited, 1), Const(0, 64 - len(pulse) - known), pulse)
