"""The paper's formulas: queue pairs and bytes of one process and of one node.

Symbols: N processes, m nodes, c cores a node (one process a core), n, s1, sd, rd, s2 as in
:class:`~firmware_models.connections.sizes.QueueSizes`. All sizes are bytes. A process counts every other process, or
every node, its own included, as a peer, whether or not shared memory would do.
"""

from dataclasses import dataclass

from firmware_models.connections.error import require
from firmware_models.connections.scheme import Scheme
from firmware_models.connections.sizes import QueueSizes

MAX_PROCESSES = 1 << 30
MAX_CORES = 4096


@dataclass(frozen=True, kw_only=True)
class Machine:
    """So many processes on nodes of so many cores, one process a core, numbered node by node.

    Raises
    ------
    ConnectionsError
        If `n_processes` is not 2 to 2**30 or `n_cores` not 1 to 4,096.
    """

    n_processes: int
    n_cores: int = 1

    def __post_init__(self) -> None:
        require(2 <= self.n_processes <= MAX_PROCESSES, "processes", f"2 to {MAX_PROCESSES}", self.n_processes)
        require(1 <= self.n_cores <= MAX_CORES, "cores", f"1 to {MAX_CORES}", self.n_cores)

    @property
    def n_nodes(self) -> int:
        """Nodes; the last one may have fewer processes than cores."""
        return -(-self.n_processes // self.n_cores)

    @property
    def node_processes(self) -> int:
        """Processes of the fullest node."""
        return min(self.n_processes, self.n_cores)


def require_group_size(machine: Machine, scheme: Scheme, group_size: int) -> None:
    """Raises :class:`ConnectionsError` unless groups of `group_size` processes can be made.

    With XRC a group must hold whole nodes: a connection leads to a node, and a node in two groups would belong to none.
    """
    high = -(-machine.n_processes // machine.n_cores) * machine.n_cores if scheme.traits.has_xrc \
        else machine.n_processes
    require(1 <= group_size <= high, "group_size", f"1 to {high}", group_size)
    if scheme.traits.has_xrc:
        require(group_size % machine.n_cores == 0, "group_size",
                f"a multiple of {machine.n_cores}, the cores of a node, for {scheme.value}", group_size)


def n_groups(machine: Machine, group_size: int) -> int:
    """Groups of `group_size` processes, the last one perhaps smaller: 79 of 4,096 for 320,000 (section 4.2)."""
    return -(-machine.n_processes // group_size)


def rc_queue_pairs(machine: Machine) -> int:
    """Queue pairs of a process, everybody connected with everybody: N - 1 (section 1), m c - 1 (section 3.2)."""
    return machine.n_processes - 1


def xrc_queue_pairs(machine: Machine) -> int:
    """Queue pairs of a process that reaches a node with one: m (section 3.2), its own node included."""
    return machine.n_nodes


def group_queue_pairs(machine: Machine, group_size: int, *, has_xrc: bool) -> int:
    """Queue pairs of the process that has the most of them, in static groups (section 4.2).

    All of its own group (with XRC: its nodes), and the one with its index in every other group: 1024 + 78 = 1102
    for 320,000 processes, 4 cores a node, groups of 4,096. A process whose index the last group lacks has one less.
    """
    members = min(group_size, machine.n_processes)
    inside = -(-members // machine.n_cores) if has_xrc else members - 1
    return inside + n_groups(machine, group_size) - 1


def rc_bytes(sizes: QueueSizes, n_queue_pairs: int) -> int:
    """Bytes of a process: (n s1) (N - 1) + (sd + rd) s2 (N - 1) (section 1)."""
    return (sizes.n_receive_buffers * sizes.buffer_bytes) * n_queue_pairs \
        + (sizes.send_depth + sizes.receive_depth) * sizes.work_request_bytes * n_queue_pairs


def srq_bytes(sizes: QueueSizes, n_queue_pairs: int) -> int:
    """Bytes of a process with one shared receive queue, as deep as it has queue pairs.

    s1 (N - 1) + (sd + 0) s2 (N - 1) + 1 s2 (N - 1) (section 2); with m for N - 1 it is XRC_S (section 3.2), with
    1102 for it the example of section 4.2.
    """
    return sizes.buffer_bytes * n_queue_pairs + (sizes.send_depth + 0) * sizes.work_request_bytes * n_queue_pairs \
        + 1 * sizes.work_request_bytes * n_queue_pairs


def sizes_bytes(sizes: QueueSizes, n_queue_pairs: int) -> float:
    """Bytes of a process whose receive buffers have several lengths.

    XRC_M = ((1 + 1/2 + … + 1/32) / 6) s1 m + sd s2 m + s2 m (section 3.2).
    """
    return sizes.mean_class_bytes * n_queue_pairs + sizes.send_depth * sizes.work_request_bytes * n_queue_pairs \
        + sizes.work_request_bytes * n_queue_pairs


def queue_pairs(scheme: Scheme, machine: Machine, group_size: int | None = None) -> int:
    """Static queue pairs of the process that has the most of them.

    Parameters
    ----------
    scheme : Scheme
        How connections are kept.
    machine : Machine
        Processes and cores.
    group_size : int, optional
        Processes of a group; required for grouped schemes, which without it raise :class:`ConnectionsError`, as they
        do if it is out of range.

    Examples
    --------
    >>> queue_pairs(Scheme.GROUP_XRC, Machine(n_processes=320_000, n_cores=4), 4096)
    1102
    """
    traits = scheme.traits
    if traits.is_grouped:
        require(group_size is not None, "group_size", f"given for {scheme.value}", group_size)
        assert group_size is not None
        require_group_size(machine, scheme, group_size)
        return group_queue_pairs(machine, group_size, has_xrc=traits.has_xrc)
    return xrc_queue_pairs(machine) if traits.has_xrc else rc_queue_pairs(machine)


def process_bytes(scheme: Scheme, machine: Machine, sizes: QueueSizes, group_size: int | None = None) -> float:
    """Bytes of queues and posted receive buffers of one process, by the paper's formula for `scheme`.

    `sizes.srq_depth` is left out here: the formulas have as many receive buffers as queue pairs. Raises as
    :func:`queue_pairs`.

    Examples
    --------
    >>> paper = QueueSizes(buffer_bytes=8000)
    >>> process_bytes(Scheme.RC, Machine(n_processes=10_000), paper) / 1e6
    420.437952
    """
    found = queue_pairs(scheme, machine, group_size)
    if not scheme.traits.has_srq:
        return rc_bytes(sizes, found)
    return sizes_bytes(sizes, found) if scheme.traits.has_sizes else srq_bytes(sizes, found)


def node_bytes(scheme: Scheme, machine: Machine, sizes: QueueSizes, group_size: int | None = None) -> float:
    """Bytes of one full node: c times those of a process (sections 1 and 3.2). Raises as :func:`queue_pairs`."""
    return machine.node_processes * process_bytes(scheme, machine, sizes, group_size)
