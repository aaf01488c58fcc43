"""Operations without hardware: who is rung when, who is late, how an operation ends."""

import numpy as np
import pytest

from firmware_models.abi.encoding import Status
from firmware_models.abi.formats import COMPLETION, DESCRIPTOR
from firmware_models.abi.registers import vp_address
from firmware_models.host import HostError, NodeDriver, Operation, Port, wait

VP = 3
RANKS = 3
DESC = DESCRIPTOR.pack(tag=7)


class Nics:
    """A transport whose NICs complete an operation when the test says so."""

    def __init__(self) -> None:
        self.memories = [np.zeros(1 << 16, np.uint8) for _ in range(RANKS)]
        self.cycle = 0
        self.rung: list[tuple[int, int]] = []
        """Node and cycle of every doorbell."""
        self.watched: set[tuple[int, int]] = set()
        self.refused = False

    def answer_key(self, node: int) -> int:
        """Any."""
        return node

    def read_register(self, node: int, address: int) -> int:
        """Nothing is read here."""
        raise AssertionError(f"register {address:#x} of node {node}")

    def write_register(self, node: int, address: int, value: int, *, not_before: int = 0) -> None:
        """Keeps doorbells."""
        if address == vp_address(VP, "dq_prod"):
            assert len(self.watched) == RANKS, "a completion could be there before it is watched for"
            self.rung.append((node, not_before))

    def watch(self, node: int, address: int) -> None:
        """A word that is written from now on."""
        self.watched.add((node, address))

    def run(self, most: int) -> bool:
        """All that is watched has been written, or `most` cycles pass."""
        if self.watched:
            self.cycle += most
        return not self.watched

    def run_for(self, cycles: int) -> None:
        """They pass."""
        self.cycle += cycles

    def check_registers(self) -> None:
        """Fails if the test says so."""
        if self.refused:
            raise RuntimeError("an access failed")

    def complete(self, port: Port, *, status: Status = Status.OK, tag: int = 7) -> None:
        """The NIC writes the first completion of `port`."""
        ring = port.steps.completions
        port.driver.store(ring.address(0), COMPLETION.pack(phase=1, status=status, tag=tag, vp=VP))
        self.watched.discard((port.driver.node, ring.last_word(0)))


@pytest.fixture
def nics() -> Nics:
    return Nics()


@pytest.fixture
def ports(nics: Nics) -> list[Port]:
    opened = [NodeDriver(nics, node).open_port(VP) for node in range(RANKS)]
    for port in opened:
        port.open_window(0, 1 << 16)
    return opened


def test_each_rank_is_rung_at_its_cycle(nics: Nics, ports: list[Port]) -> None:
    operation = Operation.post(ports, [DESC] * RANKS, tag=7)
    assert nics.rung == []
    operation.ring(not_before=[5, 0, 9])
    assert nics.rung == [(0, 5), (1, 0), (2, 9)]
    with pytest.raises(ValueError, match="shorter"):
        operation.ring(not_before=[5, 0])


def test_all_ranks_are_rung_at_one_cycle(nics: Nics, ports: list[Port]) -> None:
    Operation.post(ports, [DESC] * RANKS).ring(not_before=4)
    assert nics.rung == [(0, 4), (1, 4), (2, 4)]


def test_who_is_late(nics: Nics, ports: list[Port]) -> None:
    operation = Operation.post(ports, [DESC] * RANKS, tag=7)
    operation.ring()
    assert operation.late == ports
    nics.complete(ports[1])
    assert operation.late == [ports[0], ports[2]]
    assert operation.late == [ports[0], ports[2]], "who looks takes nothing"
    found = operation.poll()
    assert [each is None for each in found] == [True, False, True]
    assert operation.poll() == [None] * RANKS


def test_completions_may_be_there_before_the_wait(nics: Nics, ports: list[Port]) -> None:
    """Time that passes between doorbells and wait is not waited for again."""
    operation = Operation.post(ports, [DESC] * RANKS, tag=7)
    operation.ring()
    for port in ports:
        nics.complete(port)
    assert [each.tag for each in operation.wait(most=1000)] == [7] * RANKS
    assert nics.cycle == 0
    assert len(operation.completions) == RANKS


@pytest.mark.parametrize(("rank", "outcome", "tag", "message"), [
    (0, Status.TIMEOUT, 7, "rank 0: operation 7 ended in TIMEOUT"),
    (2, Status.OK, 8, "rank 2: operation 8 ended in OK"),
    (1, None, 7, "rank 1: operation 7 has not ended within 1000 cycles"),
])
def test_how_it_may_end(
    nics: Nics, ports: list[Port], rank: int, outcome: Status | None, tag: int, message: str,
) -> None:
    operation = Operation.post(ports, [DESC] * RANKS, tag=7)
    operation.ring()
    for number, port in enumerate(ports):
        if number != rank:
            nics.complete(port)
        elif outcome is not None:
            nics.complete(port, status=outcome, tag=tag)
    with pytest.raises(HostError) as error:
        operation.wait(most=1000)
    assert str(error.value).partition(", detail ")[0] == message


def test_a_wait_reports_failed_accesses(nics: Nics) -> None:
    assert wait(nics, most=10)
    nics.refused = True
    with pytest.raises(RuntimeError, match="an access failed"):
        wait(nics, most=10)
