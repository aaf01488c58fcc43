"""Which packets have to bear a mark: what an operation sends after an error may be wrong, and says so."""

from typing import Any

from firmware_models.abi.encoding import Status
from testbench.cou.trigger_model import Pulse, report_of


def own_report(pulse: Pulse, done: dict[str, Any]) -> tuple[int, int] | None:
    """Report of a pass on the packet that it takes: that it is of another operation, or its sender's error, rather than
    its length."""
    header = done["packet"].header if done["packet"] else {}
    ours, theirs = pulse.operation.terms, header.get("addr", 0) & 0xFFFF
    if ours and theirs and ours != theirs and not header["swap_addr"]:
        return int(Status.BAD_TERMS), header["source_id"] | theirs << 24 | pulse.number << 48
    if header.get("status"):
        detail = header["source_id"] | header["status"] << 24 | pulse.consumed << 32 | pulse.number << 48
        return int(Status.PEER_ERROR), detail
    return report_of(pulse, Status.LENGTH_MISMATCH, header["length"]) if done["mismatch"] else None


def check_mark(pulse: Pulse, own: tuple[int, int] | None, header: dict[str, int]) -> str:
    """A packet bears the first error of its operation, if its pulse had one, or may if another pulse had; or its
    pass's own. Gives where its mark is from."""
    operation, status = pulse.operation, header["status"]
    first = operation.received[0][0] if operation.received else int(Status.OK)
    if pulse.blamed:
        assert status == first != Status.OK, "a packet without the mark of an error before it"
        return "before"
    if own is not None:
        assert status in {own[0], first} - {int(Status.OK)}, "a packet without the mark of what its pass took"
        return "own"
    assert status in (Status.OK, first), "a mark without an error"
    return "none" if status == Status.OK else "before"
