"""The control page of a NIC, as steps."""

from firmware_models.abi import register
from firmware_models.abi.register import joined
from firmware_models.abi.register_page import Counter
from firmware_models.abi.registers import CONTROL_PAGE, EVENT_COUNTERS, STATE_COUNTERS

from .access import Read, Steps, Write
from .error import HostError
from .event import BufferFigures, JobState
from .registers import CONTROL, halves


def write(name: str, value: int) -> Steps[None]:
    """Writes a register of the control page."""
    yield Write(CONTROL[name], value)


def write_fields(name: str, **fields: int) -> Steps[None]:
    """Writes the fields of a register of the control page; those that are not given are 0."""
    yield Write(CONTROL[name], CONTROL_PAGE.pack(name, **fields))


def read(name: str) -> Steps[int]:
    """Reads a register of the control page."""
    return (yield Read(CONTROL[name]))


def read_wide(name: str) -> Steps[int]:
    """Reads a 64-bit value of the control page: the low half latches the high one."""
    low, high = halves(name)
    below = yield Read(CONTROL[low])
    return joined(below, (yield Read(CONTROL[high])))


def start(node_id: int, *, answer_key: int | None = None) -> Steps[None]:
    """Sets the NodeID and the key of nonces (none: it stays as it is), and lets the NIC fetch descriptors."""
    yield from write("node_id", node_id)
    if answer_key is not None:
        for name, half in zip(halves("answer_key"), register.halves(answer_key), strict=True):
            yield from write(name, half)
    yield from write_fields("irq_enable", written=1)
    yield from write_fields("control", enable=1)


def join_group(entry: int, mgid: int, *, owner: str) -> Steps[None]:
    """Makes the NIC of `owner` a member of group `mgid`, in an entry of its table.

    Raises :class:`HostError` if it has no such entry.
    """
    n_groups = yield from read("n_groups")
    if entry >= n_groups:
        raise HostError(f"groups of {owner} must be at most {n_groups} (nic.n_groups), not {entry + 1}")
    yield from write("group_select", entry)
    yield from write_fields("group_entry", mgid=mgid, joined=1)


def look_at_job(
    job_id: int, *, close: bool = False, open_again: bool = False, refuse: bool = False, write_off: bool = False,
) -> Steps[JobState]:
    """Closes a job, writes off what peers hold of it, opens or refuses it, or none of these; how it stands then."""
    yield from write("job_select", job_id)
    yield from write_fields("job_control", close=close, open=open_again, refuse=refuse, write_off=write_off)
    word = CONTROL_PAGE["job_state"].unpack((yield from read("job_state")))
    return JobState(
        closed=bool(word["closed"]), refused=bool(word["refused"]), in_progress=bool(word["in_progress"]),
        owing=bool(word["owing"]), kept=word["kept"],
    )


def read_counter(name: str) -> Steps[int]:
    """Reads an event counter."""
    return (yield from _read_counter(EVENT_COUNTERS.offset(name)))


def read_states(cou: int) -> Steps[dict[str, int]]:
    """Cycles since reset by what an offload unit did or waited for
    (:class:`~firmware_models.abi.encoding.UnitState`)."""
    yield from write("buffer_select", cou)
    counts = {}
    for counter in STATE_COUNTERS:
        counts[counter.name] = yield from _read_counter(STATE_COUNTERS.offset(counter.name))
    return counts


def read_buffer(cou: int) -> Steps[BufferFigures]:
    """Reads the counters of the packet buffer of an offload unit since reset."""
    yield from write("buffer_select", cou)
    wide = {}
    for name in ("level_sum", "steps_sum", "settled", "suspended", "corrected", "uncorrectable"):
        wide[name] = yield from read_wide(f"buffer_{name}")
    cycles = yield from read_wide("cycles")
    packets = yield from read("buffer_packets")
    return BufferFigures(
        now=(yield from read("buffer_level")) / packets, peak=(yield from read("buffer_peak")) / packets,
        mean=wide["level_sum"] / (packets * max(cycles, 1)), steps_mean=wide["steps_sum"] / max(wide["settled"], 1),
        steps_max=(yield from read("buffer_steps_max")), stash_peak=(yield from read("buffer_stash_peak")),
        suspended=wide["suspended"], corrected=wide["corrected"], uncorrectable=wide["uncorrectable"],
        unlent=(yield from read("buffer_unlent")),
    )


def _read_counter(address: int) -> Steps[int]:
    low = yield Read(address)
    return joined(low, (yield Read(address + Counter.BYTES // 2)))
