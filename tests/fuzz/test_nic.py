"""The NIC of preset `small` among hostile processes and packets: no hang, no foreign access, an honest VP works on.

Whatever this finds becomes a test of its own here, by its seed or by what was sent.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_models.abi.encoding import Kind, PacketType, Status
from firmware_models.abi.formats import DESCRIPTOR, PACKET_HEADER, PACKET_VERSION
from firmware_models.abi.registers import vp_address
from firmware_models.config import Config, load_preset
from sim.cluster import build_library
from sim.fuzz import FuzzError, NicFuzzer, fuzz
from sim.fuzz import nic as fuzz_nic
from sim.fuzz.nic import BYSTANDER, EDGE_JOB, HONEST, HONEST_JOB, HOSTILE
from testbench.seed import drawn

BATCH, LONG = 96, 1_000_000
"""Descriptors of a VP at once; descriptors and packets of the long test."""


@pytest.fixture(scope="module")
def small() -> Config:
    return load_preset("small")


@pytest.fixture(scope="module")
def library(small: Config) -> Path:
    return build_library(small)


def test_some(library: Path, small: Config) -> None:
    for run in fuzz(library, small, range(1, 5), count=600, batch=BATCH):
        print(f"seed {run.seed}")


@pytest.mark.long
def test_a_million(library: Path, small: Config) -> None:
    for run in fuzz(library, small, range(100, 104), count=LONG // 4, batch=BATCH):
        print(f"seed {run.seed}")


def test_side_by_side_as_alone(library: Path, small: Config) -> None:
    together = list(fuzz(library, small, [7, 8, 9], count=90, batch=20))
    alone = [run for seed in (7, 8, 9) for run in fuzz(library, small, [seed], count=90, batch=20)]
    assert together == alone
    assert len({run.cycles for run in alone}) > 1


def test_same_seed_same_run(library: Path, small: Config) -> None:
    cycles = []
    for _ in range(2):
        with NicFuzzer(library, small, seed=5) as fuzzer:
            fuzzer.post(20)
            fuzzer.send(100)
            cycles.append((fuzzer.cluster.cycle, fuzzer.cluster.fingerprint()))
    assert cycles[0] == cycles[1]


def test_a_foreign_access_is_seen(library: Path, small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a window that is registered with the NIC, and not with the guard."""
    real = fuzz_nic.Cluster.allow

    def less(cluster: object, node: int, base: int, limit: int, *, is_write: bool) -> None:
        real(cluster, node, base, base + 512 if limit - base == 4096 else limit, is_write=is_write)  # type: ignore[arg-type]

    monkeypatch.setattr(fuzz_nic.Cluster, "allow", less)
    with pytest.raises(FuzzError, match=r"^seed 3, after \d+ descriptors and \d+ packets: \d+ accesses to "
                                        r"foreign memory, first 0x[0-9a-f]+$"):
        list(fuzz(library, small, [3], count=10_000, batch=BATCH))


def test_a_hang_is_seen(library: Path, small: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no watchdog, so that what waits for packets of others never ends."""
    monkeypatch.setattr(fuzz_nic, "WATCHDOG", 0)
    monkeypatch.setattr(fuzz_nic, "_PATIENCE", 20_000)
    monkeypatch.setattr(fuzz_nic, "_LONG", 2_000)
    monkeypatch.setattr(NicFuzzer, "close", lambda _fuzzer: None)
    with pytest.raises(FuzzError, match=r"hang: not so within 20000 cycles: descriptors end$"):
        list(fuzz(library, small, [3], count=10_000, batch=BATCH))


def header(**fields: int) -> bytes:
    """A header of a hostile node."""
    return PACKET_HEADER.pack(**({"version": PACKET_VERSION, "source_id": 1, "dest_vp": HONEST} | fields))


FILLS, JOBS = "foreign JobID, SeqIDs that nobody asked for", "as many jobs as there are numbers"
"""Without regard to credits: they would fill the packet buffers."""
ATTACKS: dict[str, Callable[[int], tuple[int, bytes]]] = {
    FILLS: lambda n: (0, header(
        type=PacketType.COLLECTIVE, job_id=HONEST_JOB, seq_id=n % 32, pulse=n // 32, peer=n % 16, length=8,
    ) + bytes(8)),
    JOBS: lambda n: (0, header(
        type=PacketType.COLLECTIVE, job_id=n % 256, seq_id=n // 256 % 32, pulse=n // 8192, length=8) + bytes(8)),
    "shared credits that nobody has": lambda n: (0, header(
        type=PacketType.COLLECTIVE, job_id=HONEST_JOB, seq_id=n % 32, pulse=n // 32, loan=1, length=8) + bytes(8)),
    "forged source": lambda n: (0, header(
        type=PacketType.PUT, source_id=n % 1000, source_vp=n % 16, dest_vp=BYSTANDER, length=64, addr=4096 + 64 * n,
    ) + bytes(64)),
    "addresses outside of windows": lambda n: (0, header(
        type=PacketType.GET, dest_vp=n % 16, pulse=64, addr=(n * 7919 * 64) % (1 << 20))),
    "credits that nobody gave": lambda n: (1, header(
        type=PacketType.CREDIT, job_id=(HONEST_JOB, n % 256)[n % 2], credits=255, peer=n % 16)),
    "shared credits that nobody asked for": lambda n: (1, header(
        type=PacketType.CREDIT, job_id=(HONEST_JOB, n % 256)[n % 2], loan=1, peer=n % 16)),
    "answers to nothing": lambda n: (1, header(type=PacketType.ACK, tag=n % 65536, status=n % 8)),
    "mini packets beyond the ring": lambda n: (0, header(type=PacketType.SEND, length=8) + bytes(8)),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_node(attack: str, library: Path, small: Config) -> None:
    """Six hundred packets of one kind at once: the honest VP is served after, and nobody's memory was touched."""
    with NicFuzzer(library, small, seed=1) as fuzzer:
        fuzzer.play([ATTACKS[attack](number) for number in range(600)])
        for _ in range(30):
            fuzzer.cluster.run_for(1_000)
        fuzzer.check()


@pytest.mark.parametrize("attack", [FILLS, JOBS])
def test_packets_that_no_credit_covers(attack: str, library: Path, small: Config) -> None:
    """Found here: they stood in the receive path. They are dropped and counted; of each job its share is kept."""
    share, count = small.cou.n_peers * small.cou.peer_credits, 14_000
    with NicFuzzer(library, small, seed=1) as fuzzer:
        driver = fuzzer.driver
        fuzzer.play([ATTACKS[attack](number) for number in range(count)])
        n_jobs = 1 if attack == FILLS else len((*HOSTILE, EDGE_JOB, HONEST_JOB))
        assert driver.read_counter("buffer_inserts") == n_jobs * share
        assert driver.read_counter("rx_uncovered") == count - n_jobs * share
        assert driver.job_state(HONEST_JOB).kept == share
        levels = [round(driver.read_buffer(unit).now * small.buffer_packets) for unit in range(small.nic.n_cous)]
        assert sum(levels) == n_jobs * share
        assert max(levels) <= small.guaranteed_packets


def access(library: Path, config: Config, *, seed: int, count: int) -> None:
    """At least so many register accesses."""
    print(f"seed {seed}")
    with NicFuzzer(library, config, seed=seed) as fuzzer:
        while fuzzer.n_accesses < count:
            fuzzer.fill_rings()
            fuzzer.access(400)


def test_register_accesses(library: Path, small: Config) -> None:
    """Every register and everything between, read and written, whole and in parts, beside an honest VP."""
    access(library, small, seed=drawn("accesses"), count=2_000)


def test_a_part_of_a_word_that_is_written_is_seen(
    library: Path, small: Config, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: hardware that takes no notice of strobes."""
    real = fuzz_nic.Cluster.write_register_bytes
    monkeypatch.setattr(fuzz_nic.Cluster, "write_register_bytes", lambda cluster, node, address, value, _strobes: real(
        cluster, node, address, value, 0xF,
    ))
    with pytest.raises(FuzzError, match=r"register accesses"):
        access(library, small, seed=2, count=2_000)


@pytest.mark.long
def test_many_register_accesses(library: Path, small: Config) -> None:
    for seed in range(20, 24):
        access(library, small, seed=seed, count=50_000)


def test_an_operation_that_takes_for_ever(library: Path, small: Config) -> None:
    """Found by seed 11 after 91,008 items: 2**32 bytes that neither come from memory nor go anywhere, in 15 million
    pulses. It is at work, so no watchdog ends it; others work beside it, and its host ends it by closing its job."""
    vp, job = 2, 2
    with NicFuzzer(library, small, seed=1) as fuzzer:
        port = fuzzer.ports[vp]
        port.post(DESCRIPTOR.pack(
            kind=Kind.RDMA, c=1, ch=1, ct=1, job_id=job, peer=1, dest_id=1, dest_vp=vp, source_vp=vp,
            length=3_785_795_121, pulse_bytes=256,
        ))
        port.ring()
        fuzzer.cluster.run_for(100 * fuzz_nic.WATCHDOG)
        assert port.steps.take_completion() is None
        assert fuzzer.driver.job_state(job).in_progress
        fuzzer.check()
        fuzzer.driver.close_job(job)
        fuzzer.cluster.run_for(10 * fuzz_nic.WATCHDOG)
        completion = port.steps.take_completion()
        assert completion is not None
        assert completion["status"] == Status.JOB_CLOSED
        assert not fuzzer.driver.open_job(job).closed


def test_doorbell_storm(library: Path, small: Config) -> None:
    """Doorbells of any index, of VPs that are open and of those that are not, while an honest VP works."""
    with NicFuzzer(library, small, seed=1) as fuzzer:
        for number in range(300):
            vp = int(fuzzer.numbers.integers(small.nic.n_vps))
            if vp not in (HONEST, BYSTANDER):
                name = ("dq_prod", "cq_cons", "rq_cons")[number % 3]
                fuzzer.driver.write_register(vp_address(vp, name), int(fuzzer.numbers.integers(1 << 16)))
            if number % 50 == 0:
                fuzzer.check()
        fuzzer.check()
