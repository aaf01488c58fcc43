"""Says why an operation did not end well: who did not come, who posted something else, which packets are missing."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from firmware_models.abi import formats
from firmware_models.abi.encoding import Status
from firmware_models.host import Completion
from firmware_models.schedule import Schedule, Terms, largest_pulse
from sim.operation.request import CollectiveRequest

_SEQ_IDS = 1 << formats.SEQ_BITS


def terms_of(request: CollectiveRequest) -> Terms:
    """Terms in which the participants of a request have to agree."""
    schedule = request.schedule
    return Terms.of(
        schedule, length=request.size, pulse_bytes=request.pulse_bytes or largest_pulse(schedule, request.config),
        datatype=request.datatype, operator=request.operator,
    )


def diagnose(
    requests: Sequence[CollectiveRequest], completions: Mapping[int, Completion | None], *,
    absent: Collection[int] = (), gone: Collection[int] = (),
) -> list[str]:
    """One line for each thing that is wrong with an operation, causes first.

    Parameters
    ----------
    requests : sequence of CollectiveRequest
        What each rank has posted, or should have.
    completions : mapping of int to Completion or None
        Of the ranks that have posted; None where none has come.
    absent, gone : collection of int
        Ranks that never posted, and those of which the node is no more.

    Returns
    -------
    list of str
        Empty if all has ended in OK.
    """
    well = [each for each in completions.values() if each is not None and each.status is Status.OK]
    if len(well) == len(requests):
        return []
    terms = [terms_of(request) for request in requests]
    usual = max(terms, key=terms.count)
    lines = [f"rank {rank} never posted" for rank in sorted(absent)]
    lines += [f"the node of rank {rank} is gone" for rank in sorted(gone)]
    for rank, own in enumerate(terms):
        if found := list(usual.differences(own)):
            lines.append(f"rank {rank} posted {_list(f'{name} {theirs}, not {ours}' for name, ours, theirs in found)}")
    for rank, completion in sorted(completions.items()):
        if completion is None:
            lines.append(f"rank {rank}: no completion")
        elif completion.status is not Status.OK:
            lines.append(f"rank {rank}: {completion.status.name}, {_explain(rank, completion, requests, terms)}")
    return lines


def _list(words: Iterator[str]) -> str:
    return " and ".join(words)


def _explain(
    rank: int, completion: Completion, requests: Sequence[CollectiveRequest], terms: Sequence[Terms]
) -> str:
    """Describes the detail of a completion, in ranks. NodeIDs are ranks here: a session gives its first nodes to them.
    """
    detail = completion.detail
    match completion.status:
        case Status.TIMEOUT:
            return _waited_for(requests[rank].schedule, rank, detail)
        case Status.PEER_ERROR:
            consumed, pulse = detail >> 32 & 0xFFFF, detail >> 48
            return f"rank {_node(detail)} had {Status(detail >> 24 & 0xFF).name} (packet {consumed} of pulse {pulse})"
        case Status.BAD_TERMS:
            sender, theirs, pulse = _node(detail), detail >> 24 & 0xFFFF, detail >> 48
            what = "instead of the packet that it waits for" if detail >> 40 & 1 else "in its place"
            known = next((other for other in terms if other.checksum == theirs), None)
            differing = "an operation that nobody posted" if known is None else _list(
                f"{name} {value}" for name, _, value in terms[rank].differences(known)
            )
            return f"rank {sender} sent a packet of {differing} (pulse {pulse}) {what}"
        case Status.LENGTH_MISMATCH:
            return f"packet {detail & 0xFFFF} of pulse {detail >> 16 & 0xFFFF} has {detail >> 32 & 0xFFFF} bytes"
        case _:
            return f"detail {detail:#x}"


def _node(detail: int) -> int:
    return detail & ((1 << formats.NODE_BITS) - 1)


def _waited_for(schedule: Schedule, rank: int, detail: int) -> str:
    """Packets that a descriptor wanted and that had not come when its time was over.

    A bit of the detail is a SeqID, a number modulo 32: the descriptor that wants the next packet says which.
    """
    consumed, pulse, bits = detail & 0xFFFF, detail >> 16 & 0xFFFF, detail >> 32
    wanted: list[tuple[int, int]] = []
    count = skipped = 0
    for step in schedule.sequences[rank]:
        skipped += step.skip
        numbered = [(count + k + skipped, sender) for k, sender in enumerate(step.receive_from)]
        count += len(step.receive_from)
        if count > consumed:
            wanted = [each for each in numbered if each[0] >= consumed + skipped]
            break
    missing = [(number, sender) for number, sender in wanted if bits >> number % _SEQ_IDS & 1]
    if not missing:
        return f"waited for a credit to send, or for its host's memory (pulse {pulse}, {consumed} packets consumed)"
    packets = _list(f"packet {number} from rank {sender}" for number, sender in missing)
    return f"waited for {packets} (pulse {pulse})"
