"""The control page of a NIC, as steps."""

from .access import Read, Steps, Write
from .error import HostError
from .event import BufferFigures
from .registers import CONTROL, EVENTS, STATES, halves


def write(name: str, value: int) -> Steps[None]:
    """Writes a register of the control page."""
    yield Write(CONTROL[name], value)


def read(name: str) -> Steps[int]:
    """Reads a register of the control page."""
    return (yield Read(CONTROL[name]))


def read_wide(name: str) -> Steps[int]:
    """Reads a 64-bit value of the control page: the low half latches the high one."""
    low, high = halves(name)
    below = yield Read(CONTROL[low])
    return below | (yield Read(CONTROL[high])) << 32


def start(node_id: int) -> Steps[None]:
    """Sets the NodeID and lets the NIC fetch descriptors."""
    yield from write("node_id", node_id)
    yield from write("irq_enable", 1)
    yield from write("control", 1)


def join_group(entry: int, mgid: int, *, owner: str) -> Steps[None]:
    """Makes the NIC of `owner` a member of group `mgid`, in an entry of its table.

    Raises :class:`HostError` if it has no such entry.
    """
    n_groups = yield from read("n_groups")
    if entry >= n_groups:
        raise HostError(f"groups of {owner} must be at most {n_groups} (nic.n_groups), not {entry + 1}")
    yield from write("group_select", entry)
    yield from write("group_entry", mgid | 1 << 31)


def read_counter(name: str) -> Steps[int]:
    """Reads an event counter."""
    return (yield from _read_counter(EVENTS[name]))


def read_states(cou: int) -> Steps[dict[str, int]]:
    """Cycles since reset by what an offload unit did or waited for (:class:`~firmware_models.abi.UnitState`)."""
    yield from write("buffer_select", cou)
    counts = {}
    for name, address in STATES.items():
        counts[name] = yield from _read_counter(address)
    return counts


def read_buffer(cou: int) -> Steps[BufferFigures]:
    """What the packet buffer of an offload unit has counted since reset."""
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
    return low | (yield Read(address + 4)) << 32
