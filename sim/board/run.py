"""A collective on a board, every bit compared with the golden model, as on the simulated cluster."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_models.abi.formats import JOB_BITS
from firmware_models.config import Config, load_preset, preset_names
from firmware_models.golden import sha256
from firmware_models.host import HostError, NodeDriver, Rings
from fpga.selftest.design import config_digest
from sim.board.board import Board
from sim.board.frame_link import BoardError
from sim.cluster import RegisterAccessError
from sim.collective import CollectiveError, compare, read_completions, set_up_job
from sim.request import CollectiveRequest, RequestError

_RINGS = Rings(dq_log2=4, cq_log2=1, rq_log2=1)
_WARM_UP_CYCLES = 1_000
_PATIENCE_CYCLES = 5_000_000


@dataclass(frozen=True, kw_only=True)
class BoardResult:
    """What came of an operation on a board.

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

    Raises
    ------
    BoardError
        If it is none of those that there are.
    """
    for name in preset_names():
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


def _run(request: CollectiveRequest, board: Board) -> BoardResult:
    board.reset()
    drivers = [NodeDriver(board, node, rings=_RINGS) for node in range(board.n_nodes)]
    for driver in drivers:
        driver.start()
    # Units clear their memories after reset.
    board.run_for(_WARM_UP_CYCLES + (request.config.cou.n_peers << JOB_BITS))
    jobs = [set_up_job(request, drivers, job) for job in range(request.jobs)]
    board.check_registers()
    for job in jobs:
        for port in job.ports:
            port.watch_completions(1)
    # All doorbells are kept, and rung together when time is let pass.
    for job in jobs:
        for port in job.ports:
            port.ring()
    if not board.run(_PATIENCE_CYCLES):
        counts = [f"node {driver.node}: {driver.read_counter('completions')}" for driver in drivers]
        board.show(passed=False, failed=True)
        raise CollectiveError(f"{request.collective} did not end on the board; completions: {', '.join(counts)}")
    begin = board.start
    board.check_registers()
    completions = list(read_completions(jobs))
    outputs, mismatched = compare(request, drivers, jobs)
    cycles = max(completion.timestamp for completion in completions) - begin
    return BoardResult(
        cycles=cycles, seconds=cycles / board.clock_hz, mismatched_bits=mismatched, sha256=sha256(np.stack(outputs)),
        outputs=outputs[0], repeated=board.link.repeated,
    )
