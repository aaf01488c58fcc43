"""Request to a cluster, checked before anything is built."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config import Config, ConfigError, need_messages
from firmware_models.golden import dtype_of
from firmware_models.schedule import (
    Combine,
    Schedule,
    ScheduleError,
    algorithm_names,
    build,
    collective_names,
    largest_pulse,
)
from rtl.reduce.operation import operations
from sim.cluster.stalls import StallProfile
from sim.fabric.topology import Topology, TopologyError, parse_topology
from sim.host import Host

DATATYPES = {
    "float64": Datatype.FLOAT64, "int64": Datatype.INT64, "uint64": Datatype.UINT64, "float32": Datatype.FLOAT32,
    "int32": Datatype.INT32, "uint8": Datatype.BYTE, "double_int": Datatype.DOUBLE_INT,
}
_COPIES = 8
"""Of a message, at every node: operand and result in host memory, operand, golden and simulated result in Python."""
OPERATORS = {operator.name.lower(): operator for operator in Operator}


class RequestError(ValueError):
    """A request that cannot be served; one line that says what is wrong and what would be right."""


@dataclass(frozen=True, kw_only=True)
class CollectiveRequest:
    """One collective operation on every job of a cluster.

    Members
    -------
    collective, algorithm : str
        Names as in ``firmware_models.schedule``.
    nodes : int
        Nodes; each takes part in every job.
    size : int
        Bytes of a job's message; 0 for a barrier.
    root, jobs : int
        Root, and how many jobs run at once, each on its own data.
    dtype, op : str
        Element type by NumPy's name, or ``double_int`` for a double with an index; reduction operator.
    topology : str, optional
        ``star:N`` with all nodes if not given; nodes are at its first terminals.
    config, preset : Config, str
        The hardware, and what to call it.
    seed : int
        Of the data and of everything random.
    inputs : array of shape (nodes, elements), optional
        Data of job 0; random if not given. Other jobs have random data in any case.
    pulse_bytes : int, optional
        Bytes that a pulse takes of each block; as many as the hardware has room for if not given.
    stalls : StallProfile
        Delays.
    host : Host, optional
        What hosts take; nothing counts but the NICs' cycles if not given.
    host_name : str
        What to call it.
    host_based : bool
        Hosts carry it out, by messages.

    Raises
    ------
    RequestError
        On construction, if something does not fit.
    """

    collective: str
    algorithm: str
    nodes: int
    size: int
    root: int = 0
    jobs: int = 1
    dtype: str = "float64"
    op: str = "sum"
    topology: str | None = None
    config: Config
    preset: str
    seed: int = 0
    inputs: NDArray[Any] | None = None
    pulse_bytes: int | None = None
    stalls: StallProfile = field(default_factory=StallProfile)
    host: Host | None = None
    host_name: str = ""
    host_based: bool = False

    def __post_init__(self) -> None:
        _check_choice("collective", self.collective, collective_names())
        _check_choice(f"algorithm of {self.collective}", self.algorithm, algorithm_names(self.collective))
        wired = self._wired()
        if self.topology is None:
            object.__setattr__(self, "topology", wired.name)
        try:
            schedule = self.schedule
            self._check_data(schedule)
            if not self.host_based:
                largest_pulse(schedule, self.config)
        except ScheduleError as error:
            raise RequestError(str(error)) from None
        self._check_memory()
        self._check_host()
        limit = min(self.config.nic.n_cous * self.config.cou.n_jobs, self.config.nic.n_vps)
        _check_range("jobs", self.jobs, 1, limit)

    def _wired(self) -> Topology:
        if self.nodes < 2:
            raise RequestError(f"nodes must be at least 2, not {self.nodes}")
        try:
            return parse_topology(f"star:{self.nodes}" if self.topology is None else self.topology, n_nodes=self.nodes)
        except TopologyError as error:
            raise RequestError(str(error)) from None

    def _check_host(self) -> None:
        if not self.host_based:
            return
        if self.host is None:
            raise RequestError("host must be given if hosts carry it out, not left out")
        try:
            need_messages(self.config, "hosts to get long messages", get=True)
        except ConfigError as error:
            raise RequestError(str(error)) from None
        if self.schedule.groups():
            raise RequestError(
                f"algorithm of {self.collective} must be one without multicast if hosts carry it out, "
                f"not {self.algorithm!r}"
            )

    def _check_memory(self) -> None:
        """Before anything is built: hosts, operands, golden results and what comes back are all in memory at once."""
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = there // (_COPIES * self.nodes * max(self.jobs, 1))
        if self.size > most:
            raise RequestError(
                f"size must be at most {most} bytes, for {self.nodes} nodes and {self.jobs} jobs to go into this "
                f"machine's memory of {there >> 20} MiB, not {self.size}"
            )

    def _check_data(self, schedule: Schedule) -> None:
        _check_choice("dtype", self.dtype, list(DATATYPES))
        if not schedule.moves_data:
            if self.size:
                raise RequestError(f"size must be 0 for {self.collective}, which moves no data, not {self.size}")
            return
        item = dtype_of(self.datatype).itemsize
        if self.size < item or self.size % item:
            raise RequestError(f"size must be a positive multiple of {item} bytes ({self.dtype}), not {self.size}")
        if self.size >= 1 << 32:
            raise RequestError(f"size must be below {1 << 32} bytes, not {self.size}")
        whole = item * schedule.block_count
        if schedule.equal_blocks and self.size % whole:
            raise RequestError(
                f"size must be a multiple of {whole} bytes for {self.collective}: {schedule.block_count} blocks of "
                f"whole {self.dtype}, not {self.size}"
            )
        if reduces(self.collective, self.algorithm):
            _check_choice("op", self.op, list(OPERATORS))
        if _reduces(schedule):
            able = [operator.name.lower() for datatype, operator in operations(self.config.reduce)
                    if datatype == self.datatype]
            if self.op not in able:
                known = f"one of {', '.join(able)}" if able else "of another dtype: there is none"
                raise RequestError(f"op of {self.dtype} must be {known}, not {self.op!r}")
        if self.inputs is not None:
            shape = (self.nodes, self.size // item)
            if self.inputs.shape != shape or self.inputs.dtype != dtype_of(self.datatype):
                raise RequestError(
                    f"inputs must have shape {shape} and dtype {self.dtype}, "
                    f"not {self.inputs.shape} and {self.inputs.dtype}"
                )

    @property
    def datatype(self) -> Datatype:
        """The element type as descriptors have it."""
        return DATATYPES[self.dtype]

    @property
    def operator(self) -> Operator:
        """The operator as descriptors have it."""
        return OPERATORS.get(self.op, Operator.SUM)

    @property
    def wired(self) -> Topology:
        """The topology."""
        return self._wired()

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return build(self.collective, self.algorithm, n_nodes=self.nodes, root=self.root)

    def hardware(self) -> Config:
        """The configuration, its switch with the ports and entries that the topology needs.

        Ports without a cable would change no cycle, and a switch of 32 takes a compiler ten minutes.
        """
        radix = max(2, *self.wired.radixes)
        entries = max(self.config.switch.table_entries, 1 << (self.nodes - 1).bit_length())
        return replace(self.config, switch=replace(self.config.switch, radix=radix, table_entries=entries))

    def data(self, job: int) -> NDArray[Any]:
        """Operands of `job`, a row per node."""
        kind = dtype_of(self.datatype)
        shape = (self.nodes, self.size // kind.itemsize)
        if job == 0 and self.inputs is not None:
            return self.inputs
        rng = np.random.default_rng((self.seed, job))
        if kind.kind == "f":
            # Magnitudes far apart and both signs: sums depend on their order.
            return (rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape)).astype(kind)
        if kind.names is not None:
            # Few values, so that many are equal and the indices decide.
            elements = np.zeros(shape, kind)
            elements["value"] = rng.integers(-2, 3, shape)
            elements["index"] = rng.integers(-(1 << 31), 1 << 31, shape)
            return elements
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def reduces(collective: str, algorithm: str) -> bool:
    """True if a collective has an operator, though with few nodes it may reduce nothing: exscan of two."""
    return any(_reduces(build(collective, algorithm, n_nodes=nodes)) for nodes in (2, 4))


def _reduces(schedule: Schedule) -> bool:
    return any(step.combine is Combine.REDUCE for sequence in schedule.sequences for step in sequence)


def _check_choice(name: str, value: str, allowed: list[str] | tuple[str, ...]) -> None:
    if value not in allowed:
        raise RequestError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise RequestError(f"{name} must be {low} to {high}, not {value}")
