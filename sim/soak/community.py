"""A job of a soak: the nodes that share it, their ports, and where the data of its operations lie."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firmware_models.config import Config
from firmware_models.golden import mismatched_bits, reference
from firmware_models.host import Data, Job, NodeDriver, Port
from firmware_models.schedule import MulticastGroup
from sim.soak.draw import MAX_BYTES, Draw

GUARD = 64
"""Bytes around every result that nobody may touch."""
_ROOM = MAX_BYTES + 2 * GUARD + 256


@dataclass(frozen=True, kw_only=True)
class Posted:
    """An operation whose descriptors have been made.

    Members
    -------
    draw : Draw
        What it is.
    tag : int
        In its completions.
    descriptors : list of bytes
        For the ring of each rank.
    results : list of int
        Address of the result of each rank.
    before : list of bytes
        What stood there and in the guards.
    """

    draw: Draw
    tag: int
    descriptors: list[bytes]
    results: list[int]
    before: list[bytes]


class Community:
    """One job for as long as a cluster lives. Rank r is at node `nodes[r]`; all have the same VP.

    Parameters
    ----------
    job_id, vp : int
        Of the job.
    nodes : sequence of int
        Nodes by rank.
    drivers : sequence of NodeDriver
        Of all nodes.
    depth : int
        Operations whose data are there at once.
    put_bytes : int
        Room at each rank for what others put there.
    """

    def __init__(
        self, *, job_id: int, vp: int, nodes: Sequence[int], drivers: Sequence[NodeDriver], depth: int, put_bytes: int
    ):
        self.job_id, self.vp, self.nodes = job_id, vp, list(nodes)
        self.ports: list[Port] = []
        self.put_bases: list[int] = []
        self._job: Job | None = None
        self._arenas: list[int] = []
        for node in nodes:
            driver = drivers[node]
            port = driver.open_port(vp, dq_log2=8, cq_log2=6, rq_log2=6)
            arena = driver.allocate(2 * depth * _ROOM + put_bytes)
            port.open_window(arena, arena + 2 * depth * _ROOM + put_bytes)
            self.ports.append(port)
            self._arenas.append(arena)
            self.put_bases.append(arena + 2 * depth * _ROOM)

    def join(self, groups: Sequence[MulticastGroup], config: Config) -> None:
        """Makes the job, once its nodes have joined their multicast groups."""
        self._job = Job(self.ports, job_id=self.job_id, config=config, groups=groups)

    def prepare(self, draw: Draw, *, slot: int, tag: int, rng: random.Random) -> Posted:
        """Lays out the data of an operation in `slot` and compiles its descriptors."""
        assert self._job is not None, "the job has not been made"
        request = draw.request
        inputs = request.data(0)
        data, results, before = [], [], []
        for rank, port in enumerate(self.ports):
            base = self._arenas[rank] + 2 * slot * _ROOM
            flit = self._job.config.datapath.flit_bytes
            local, result = (
                base + half * _ROOM + GUARD + flit * rng.randrange(128 // flit) for half in range(2)
            )
            operand = inputs[rank].tobytes()
            if draw.in_place:
                result = local
            else:
                port.driver.store(result - GUARD, rng.randbytes(GUARD) + bytes(request.size) + rng.randbytes(GUARD))
            port.driver.store(local, operand)
            results.append(result)
            before.append(port.driver.load(result - GUARD, request.size + 2 * GUARD))
            data.append(Data(local=local, result=result, operand=operand))
        descriptors = self._job.compile(
            request.schedule, data, length=request.size, datatype=request.datatype, operator=request.operator,
            pulse_bytes=request.pulse_bytes, tag=tag, kind=draw.kind,
        )
        return Posted(draw=draw, tag=tag, descriptors=descriptors, results=results, before=before)

    def compare(self, posted: Posted) -> list[str]:
        """Lists differences from the golden model: bits of results, or memory that nobody was to touch."""
        request = posted.draw.request
        inputs = request.data(0)
        golden = reference(
            request.collective, request.algorithm, inputs, root=request.root, datatype=request.datatype,
            operator=request.operator,
        )
        wrong = []
        for rank, port in enumerate(self.ports):
            seen = port.driver.load(posted.results[rank] - GUARD, request.size + 2 * GUARD)
            body = seen[GUARD:GUARD + request.size]
            if golden.receives[rank]:
                got = np.frombuffer(body, inputs.dtype)
                bits = mismatched_bits(got, golden.results[rank])
                if bits:
                    wrong.append(f"rank {rank} (node {self.nodes[rank]}): {bits} bits differ")
            elif body != posted.before[rank][GUARD:-GUARD]:
                wrong.append(f"rank {rank} (node {self.nodes[rank]}) got a result that is not for it")
            if (seen[:GUARD], seen[-GUARD:]) != (posted.before[rank][:GUARD], posted.before[rank][-GUARD:]):
                wrong.append(f"rank {rank} (node {self.nodes[rank]}): memory beside the result was written")
        return wrong
