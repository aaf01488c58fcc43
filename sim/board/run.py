"""A collective on a board, every bit compared with the golden model, as on the simulated cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.config import Config, load_preset, preset_names
from firmware_models.golden import sha256
from firmware_models.host import Data, HostError, Port, Rings
from firmware_models.schedule import Endpoint, MulticastGroup, PeerTable, compile_schedule, pack_sequence
from fpga.selftest.design import config_digest
from sim.board.board import Board
from sim.board.frame_link import BoardError
from sim.cluster import RegisterAccessError
from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import CollectiveError, Session

_RINGS = Rings(dq_log2=4, cq_log2=1, rq_log2=1)
_PATIENCE_CYCLES = 5_000_000


@dataclass(frozen=True, kw_only=True)
class BoardResult:
    """Result of an operation on a board.

    Members
    -------
    cycles : int
        From the first doorbell to the last completion, by the board's counters.
    seconds : float
        The same, at the board's clock.
    mismatched_bits : int
        Bits that differ from the golden model, over all nodes and jobs.
    sha256 : str
        Of the results of all jobs.
    outputs : array of shape (nodes, elements)
        Results of job 0.
    repeated : int
        Requests that had to be sent again, for they were damaged on their way.
    """

    cycles: int
    seconds: float
    mismatched_bits: int
    sha256: str
    outputs: NDArray[Any]
    repeated: int


def board_preset(board: Board) -> tuple[str, Config]:
    """Name and tree of the preset that the design on the board was built from.

    Where several presets are that hardware, and the board does not know its own, the first of them by name.

    Raises
    ------
    BoardError
        If it is none of those that there are.
    """
    for name in (*([board.preset] if board.preset is not None else []), *preset_names()):
        config = load_preset(name)
        if config_digest(config) == board.digest:
            return name, config
    raise BoardError(
        f"board has a design of another configuration (digest {board.digest:#010x}) than presets {preset_names()}: "
        "build its bitstream again"
    )


def run_on_board(request: CollectiveRequest, board: Board) -> BoardResult:
    """Carries out `request` on a board; its lights say whether every bit was right.

    Raises
    ------
    RequestError
        If the board has other hardware, or fewer nodes.
    CollectiveError
        If an operation does not end, or ends in an error, or the board fails.
    """
    if request.nodes != max(2, board.n_nodes):
        raise RequestError(f"nodes must be {max(2, board.n_nodes)} on this board, not {request.nodes}")
    if request.schedule.groups():
        raise RequestError(f"algorithm must be one without multicast on a board, not {request.algorithm!r}")
    if board.n_nodes == 1:
        request = _mirrored(request)
    if config_digest(request.config) != board.digest:
        raise RequestError(f"preset must be that of the board ({board_preset(board)[0]}), not {request.preset!r}")
    try:
        result = _run(request, board)
        board.show(passed=not result.mismatched_bits, failed=bool(result.mismatched_bits))
        return result
    except (BoardError, RegisterAccessError, HostError) as error:
        raise CollectiveError(f"{request.collective} on the board: {error}") from None


_MIRRORED = {"allreduce": "recursive-doubling", "barrier": "dissemination"}
"""Collectives in which two nodes do the same, and the algorithm."""


def _mirrored(request: CollectiveRequest) -> CollectiveRequest:
    """For a board with one NIC, which takes both parts: what it sends to its peer comes back as what the peer sends."""
    if _MIRRORED.get(request.collective) != request.algorithm:
        able = ", ".join(f"{collective} by {algorithm}" for collective, algorithm in _MIRRORED.items())
        raise RequestError(
            f"collective must be {able} on a board with one NIC, not {request.collective} by {request.algorithm}"
        )
    data = request.data(0)
    return replace(request, jobs=1, inputs=np.repeat(data[:1], 2, axis=0) if data.size else request.inputs)


class _MirroredSession(Session):
    """The NIC of a board that has one takes the part of its peer as well: it sends to itself."""

    def _compile(
        self, requests: list[CollectiveRequest], job: int, ports: list[Port], data: list[Data],
        groups: Sequence[MulticastGroup],
    ) -> list[bytes]:
        request, n_nodes = requests[0], len(ports)
        endpoints = [
            Endpoint(node_id=node, vp=job, local_addr=each.local, result_addr=each.result, operand=each.operand)
            for node, each in enumerate(data * (request.nodes // n_nodes))
        ]
        sequences = compile_schedule(
            request.schedule, endpoints=endpoints, job_id=job, config=self.config, length=request.size,
            datatype=request.datatype, operator=request.operator, pulse_bytes=request.pulse_bytes, tag=job,
            peers=PeerTable(self.config.cou.n_peers),
        )
        return [
            pack_sequence({**fields, "dest_id": fields.get("dest_id", 0) % n_nodes} for fields in sequence)
            for sequence in sequences[:n_nodes]
        ]


def _run(request: CollectiveRequest, board: Board) -> BoardResult:
    board.reset()
    kind = Session if board.n_nodes == request.nodes else _MirroredSession
    session = kind(board, request.config, nodes=board.n_nodes, rings=_RINGS)
    session.warm_up()
    jobs = [session.post(request, job) for job in range(request.jobs)]
    session.configure()
    board.check_registers()
    # All doorbells are kept, and rung together when time is let pass.
    session.ring(jobs)
    if not session.wait(_PATIENCE_CYCLES):
        board.show(passed=False, failed=True)
        raise CollectiveError(session.hang(request.collective, jobs))
    begin = board.start
    completions = list(session.completions(jobs))
    outputs, mismatched = session.compare(request, jobs)
    cycles = max(completion.timestamp for completion in completions) - begin
    return BoardResult(
        cycles=cycles, seconds=cycles / board.clock_hz, mismatched_bits=mismatched, sha256=sha256(np.stack(outputs)),
        outputs=outputs[0], repeated=board.link.repeated,
    )
