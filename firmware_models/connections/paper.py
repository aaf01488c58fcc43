"""Every number that the paper prints of connection memory, beside what its own formulas give.

"Research of Message Scalable Technology over InfiniBand Network", sections 1 to 5. The paper does not say what its
units are; they follow from its numbers: MB is 10**6 bytes throughout, and "8 kB" is 8,000 bytes in sections 1 to 3
and table 2, but 8,192 in the sum that section 4.2 writes out. `readings` counts what each other reading would give.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from firmware_models.connections.memory import Machine, n_groups, node_bytes, process_bytes, queue_pairs
from firmware_models.connections.scheme import Scheme
from firmware_models.connections.sizes import QueueSizes


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Assumed meaning of the paper's units.

    Members
    -------
    table_buffer_bytes, section_4_buffer_bytes : int
        "8 kB" in sections 1 to 3 and table 2, and in section 4.2.
    megabyte_bytes : int
        "MB"; a GB is a thousand times 10**6, or 1,024 times 2**20.
    """

    table_buffer_bytes: int = 8000
    section_4_buffer_bytes: int = 8192
    megabyte_bytes: int = 10**6

    @property
    def table_sizes(self) -> QueueSizes:
        """Depths and sizes of sections 1 to 3 and of table 2."""
        return QueueSizes(buffer_bytes=self.table_buffer_bytes)

    @property
    def section_4_sizes(self) -> QueueSizes:
        """Depths and sizes of section 4.2."""
        return QueueSizes(buffer_bytes=self.section_4_buffer_bytes)

    @property
    def gigabyte_bytes(self) -> int:
        """A GB."""
        return self.megabyte_bytes * (1000 if self.megabyte_bytes == 10**6 else 1024)


PAPER = Reading()
"""The reading that gives most of the numbers."""
GROUP_SIZE = 4096
"""Processes of a group (sections 4.2 and 5)."""
BLUELIGHT_CORES = 4
"""Cores of a node in section 4.2 and of Sunway BlueLight (section 5)."""
TABLE_1_NODES = 1000
TABLE_2_PROCESSES = (2048, 4096, 8192, 16384)


class Verdict(Enum):
    """How a printed number stands to its formula."""

    ROUNDED = "as printed"
    """The formula's value, rounded to the printed digits."""
    TRUNCATED = "cut off, not rounded"
    """The formula's value with its further digits cut off."""
    OTHERWISE = "from other numbers"
    """Not the formula's value, but that of a derivation which is known: `derivation`."""
    NONE = "contradicts the formula"
    """No derivation is known."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One printed number.

    Members
    -------
    place : str
        Where it stands in the paper.
    what : str
        What it is.
    unit : str
        Its unit; "" of a count.
    printed : str
        As printed.
    value : float
        What the formula gives, in `unit`.
    derivation : str
        Where a number that is not the formula's comes from.
    derived : float or None
        What this derivation gives, in `unit`, to be cut off at the printed digits.
    """

    place: str
    what: str
    unit: str
    printed: str
    value: float
    derivation: str = ""
    derived: float | None = None

    @property
    def decimals(self) -> int:
        """Digits after the point, as printed."""
        return len(self.printed.partition(".")[2])

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit: a rounded number is no further from what it was rounded from."""
        return 0.5 * 10.0**-self.decimals

    @property
    def verdict(self) -> Verdict:
        """Found by calculation, not by hand."""
        printed = float(self.printed)
        if abs(self.value - printed) <= self.tolerance + 1e-9:
            return Verdict.ROUNDED
        if _cut(self.value, self.decimals) == self.printed:
            return Verdict.TRUNCATED
        if self.derived is not None and _cut(self.derived, self.decimals) == self.printed:
            return Verdict.OTHERWISE
        return Verdict.NONE


def _cut(value: float, decimals: int) -> str:
    """`value` with `decimals` digits after the point and the others cut off; what is a rounding error below counts."""
    scaled = int(value * 10**decimals + 1e-6)
    return f"{scaled / 10**decimals:.{decimals}f}"


def printed_numbers(reading: Reading = PAPER) -> list[Printed]:
    """All of them, in the order of the paper."""
    return [*_sections_1_and_2(reading), *_section_3(), *_table_1(reading), *_section_4(reading), *_table_2(reading)]


def readings() -> list[tuple[Reading, int]]:
    """All readings of "8 kB" and "MB", each with how many numbers its formulas give as they are printed."""
    found = []
    for table_bytes in (8000, 8192):
        for section_4_bytes in (8000, 8192):
            for megabyte_bytes in (10**6, 1 << 20):
                reading = Reading(table_buffer_bytes=table_bytes, section_4_buffer_bytes=section_4_bytes,
                                  megabyte_bytes=megabyte_bytes)
                count = sum(number.verdict is Verdict.ROUNDED for number in printed_numbers(reading))
                found.append((reading, count))
    return found


def _sections_1_and_2(reading: Reading) -> Iterator[Printed]:
    machine = Machine(n_processes=10_000)
    yield Printed(place="section 1", what="RC, 10k processes", unit="MB", printed="420",
                  value=process_bytes(Scheme.RC, machine, reading.table_sizes) / reading.megabyte_bytes)
    a_connection = process_bytes(Scheme.RC_SRQ, machine, reading.table_sizes) / (machine.n_processes - 1)
    yield Printed(place="section 2", what="RC with SRQ, 10k processes", unit="MB", printed="90.88",
                  value=process_bytes(Scheme.RC_SRQ, machine, reading.table_sizes) / reading.megabyte_bytes,
                  derivation="N instead of N - 1 connections",
                  derived=machine.n_processes * a_connection / reading.megabyte_bytes)


def _section_3() -> Iterator[Printed]:
    two_nodes = Machine(n_processes=8, n_cores=4)
    crossing = queue_pairs(Scheme.RC, two_nodes) - (two_nodes.n_cores - 1)
    yield Printed(place="figure 2", what="RC, 2 nodes of 4: connections to the other node", unit="", printed="16",
                  value=crossing * two_nodes.n_cores)
    yield Printed(place="figure 2", what="XRC, 2 nodes of 4: connections to the other node", unit="", printed="4",
                  value=(queue_pairs(Scheme.XRC, two_nodes) - 1) * two_nodes.n_cores)


def _table_1(reading: Reading) -> Iterator[Printed]:
    rows = {
        Scheme.RC: (("336", "672"), ("2688", "10.75")), Scheme.RC_SRQ: (("72.7", "145.4"), ("581", "2.326")),
        Scheme.XRC: (("9.088", "9.088"), ("72.7", "145.4")), Scheme.XRC_SIZES: (("3.71", "3.71"), ("29.6", "59.2")),
    }
    for place, cores in enumerate((8, 16)):
        machine = Machine(n_processes=TABLE_1_NODES * cores, n_cores=cores)
        for scheme, (processes, nodes) in rows.items():
            what = f"{scheme.paper_name}, m = {TABLE_1_NODES}, c = {cores}"
            one = process_bytes(scheme, machine, reading.table_sizes) / reading.megabyte_bytes
            # A node's number is c times that of a process as the paper has written it down, with fewer digits.
            short = 3.7 if scheme is Scheme.XRC_SIZES else float(processes[place])
            is_gigabytes = nodes[place] in ("10.75", "2.326")
            unit_bytes = reading.gigabyte_bytes if is_gigabytes else reading.megabyte_bytes
            yield Printed(place="table 1", what=f"{what}, a process", unit="MB", printed=processes[place], value=one)
            yield Printed(place="table 1", what=f"{what}, a node",
                          unit="GB" if is_gigabytes else "MB", printed=nodes[place],
                          value=node_bytes(scheme, machine, reading.table_sizes) / unit_bytes,
                          derivation=f"{cores} x {short:g} MB",
                          derived=cores * short * reading.megabyte_bytes / unit_bytes)
        if cores == 16:
            ratio = process_bytes(Scheme.RC_SRQ, machine, reading.table_sizes) \
                / process_bytes(Scheme.XRC_SIZES, machine, reading.table_sizes)
            yield Printed(place="section 3.2", what="RC_SRQ over XRC_M, c = 16 (\"nearly 40 times\")", unit="",
                          printed="40", value=ratio, derivation="rounded up", derived=round(ratio, -1))


def _section_4(reading: Reading) -> Iterator[Printed]:
    for n_processes, known in ((320_000, ("79", "1102", "10.22")), (1_000_000, ("", "1268", "11.77"))):
        machine, scheme = Machine(n_processes=n_processes, n_cores=BLUELIGHT_CORES), Scheme.GROUP_XRC
        what = f"{scheme.paper_name}, {n_processes:,} processes"
        if known[0]:
            yield Printed(place="section 4.2", what=f"{what}: groups", unit="", printed=known[0],
                          value=n_groups(machine, GROUP_SIZE))
        yield Printed(place="section 4.2", what=f"{what}: connections", unit="", printed=known[1],
                      value=queue_pairs(scheme, machine, GROUP_SIZE))
        yield Printed(place="section 4.2", what=f"{what}, a process", unit="MB", printed=known[2],
                      value=process_bytes(scheme, machine, reading.section_4_sizes, GROUP_SIZE)
                      / reading.megabyte_bytes)


def _table_2(reading: Reading) -> Iterator[Printed]:
    rows = {Scheme.RC_SRQ: ("18.6", "37.2", "74.4", "148.8"), Scheme.GROUP_XRC: ("4.65", "9.3", "9.315", "9.344")}
    for scheme, numbers in rows.items():
        for n_processes, printed in zip(TABLE_2_PROCESSES, numbers, strict=True):
            machine = Machine(n_processes=n_processes, n_cores=BLUELIGHT_CORES)
            group_size = min(GROUP_SIZE, n_processes) if scheme.traits.is_grouped else None
            yield Printed(place="table 2", what=f"{scheme.paper_name}, {n_processes:,} processes", unit="MB",
                          printed=printed, value=process_bytes(scheme, machine, reading.table_sizes, group_size)
                          / reading.megabyte_bytes)


def nearest_connections(printed: Printed) -> list[tuple[str, int, float]]:
    """For a memory size per process that no formula gives: the whole numbers of connections that come nearest to it.

    Returns
    -------
    list of (str, int, float)
        Reading of "8 kB", connections, and the MB that so many take.
    """
    found = []
    for reading, sizes in (("8,000", PAPER.table_sizes), ("8,192", PAPER.section_4_sizes)):
        a_connection = sizes.buffer_bytes + (sizes.send_depth + 1) * sizes.work_request_bytes
        number = round(float(printed.printed) * 1e6 / a_connection)
        found.append((reading, number, number * a_connection / 1e6))
    return found
