"""The self-test design as a whole, simulated behind its serial port, driven by the host library like a board."""

import json
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from firmware_models.abi import registers
from firmware_models.config import load_preset
from fpga.board import BOARDS
from fpga.selftest.design import config_digest
from sim.board.board import Board
from sim.board.frame_link import BusError, FrameLink
from sim.board.model import BoardModel
from sim.board.run import board_preset, run_on_board
from sim.cli.command.run import command as run_command
from sim.cluster import RegisterAccessError
from sim.operation.request import CollectiveRequest, RequestError

PRESET = "ulx3s_85f"


@pytest.fixture(scope="module")
def model() -> Iterator[BoardModel]:
    """The simulated board; the host's bits are a hundredth longer than the board's."""
    with BoardModel(config=load_preset(PRESET), drift=0.01, seed=3) as port:
        yield port


@pytest.fixture
def board(model: BoardModel) -> Board:
    """The same, after a reset."""
    made = Board(FrameLink(model))
    made.reset()
    return made


def request(collective: str, algorithm: str, size: int, **others: object) -> CollectiveRequest:
    """A request for the board's two nodes."""
    return CollectiveRequest(
        collective=collective, algorithm=algorithm, nodes=2, size=size, config=load_preset(PRESET), preset=PRESET,
        **others,  # type: ignore[arg-type]
    )


def test_allreduce(board: Board, model: BoardModel) -> None:
    result = run_on_board(request("allreduce", "recursive-doubling", 256, seed=7), board)
    assert result.mismatched_bits == 0
    assert 50 < result.cycles < 5_000
    assert model.lights == (True, False)


@pytest.mark.parametrize(("collective", "algorithm", "size"), [
    ("allreduce", "recursive-doubling", 128), ("barrier", "dissemination", 0),
])
def test_one_nic(board: Board, collective: str, algorithm: str, size: int) -> None:
    """A board with one NIC, which takes the part of its peer as well."""
    board.n_nodes = 1
    result = run_on_board(request(collective, algorithm, size), board)
    assert result.mismatched_bits == 0
    if size:
        assert (result.outputs[0] == 2 * request(collective, algorithm, size).data(0)[0]).all()
    with pytest.raises(RequestError, match=r"^collective must be allreduce by .* with one NIC, not reduce by"):
        run_on_board(request("reduce", "binomial", 64), board)


def test_wrong_bits_are_seen(board: Board, model: BoardModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that reads one wrong bit says so: on its lights, and in its answer."""
    load = type(board.memories[0]).__getitem__

    def flipped(memory: object, place: slice) -> np.ndarray:
        read = load(memory, place)  # type: ignore[arg-type]
        if place.stop - place.start == 64 * 3:
            read[17] ^= 4
        return read

    monkeypatch.setattr(type(board.memories[0]), "__getitem__", flipped)
    result = run_on_board(request("allreduce", "recursive-doubling", 64 * 3), board)
    assert result.mismatched_bits == 2
    assert model.lights == (False, True)


def test_registers_and_memories(board: Board) -> None:
    assert board_preset(board)[1] == load_preset(PRESET)
    assert board.read_register(1, 0) == registers.ID_VALUE
    with pytest.raises(RegisterAccessError, match="register 0xffc of node 0 was answered with an error"):
        board.read_register(0, 0xFFC)
    with pytest.raises(BusError):
        board.link.read(0x7F, 0, 1)
    board.write_register(0, 0x101, 1)
    with pytest.raises(RegisterAccessError):
        board.check_registers()
    data = np.frombuffer(np.random.default_rng(1).bytes(301), np.uint8)
    board.memories[1][4099:4400] = data
    board.memories[0][4099:4400] = ~data
    assert (board.memories[1][4099:4400] == data).all()
    assert (board.memories[0][4099:4400] == ~data).all()
    with pytest.raises(BusError):
        board.link.write(0x80, board.memory_bytes, [1])


def test_time(board: Board, model: BoardModel) -> None:
    """The cycles that a NIC counts, and those of the board, are the same."""
    before, nic, after = board.cycle, board.read_register(0, 0x24), board.cycle
    assert before < nic < after
    simulated = model.cycle
    board.run_for(500)
    assert board.cycle - after >= 500
    assert model.cycle - simulated >= 500


def test_refusals(board: Board) -> None:
    with pytest.raises(RequestError, match="nodes must be 2 on this board, not 3"):
        run_on_board(CollectiveRequest(
            collective="barrier", algorithm="dissemination", nodes=3, size=0, config=load_preset(PRESET), preset=PRESET
        ), board)
    with pytest.raises(RequestError, match=r"preset must be that of the board \(\w+_85f\), not 'small'"):
        run_on_board(CollectiveRequest(
            collective="barrier", algorithm="dissemination", nodes=2, size=0, config=load_preset("small"),
            preset="small",
        ), board)


@pytest.mark.long
@pytest.mark.parametrize(("collective", "algorithm", "size"), [
    ("allreduce", "recursive-doubling", 1024), ("reduce", "binomial", 512), ("broadcast", "binomial", 512),
    ("barrier", "dissemination", 0),
])
def test_collectives(board: Board, collective: str, algorithm: str, size: int) -> None:
    assert run_on_board(request(collective, algorithm, size), board).mismatched_bits == 0


@pytest.mark.long
def test_command() -> None:
    arguments = ["allreduce", "--algorithm", "recursive-doubling", "--nodes", "2", "--size", "128", "--json"]
    result = CliRunner().invoke(run_command, [*arguments, "--board", f"model:{PRESET}"], standalone_mode=False)
    assert result.return_value == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["mismatched_bits"], answer["preset"]) == (0, PRESET)


@pytest.mark.parametrize("name", [board.preset for board in BOARDS.values()])
def test_a_simulated_board_says_its_own_preset(name: str) -> None:
    """Though several presets are the same hardware, which is all that a board behind a serial port can tell."""
    digest = config_digest(load_preset(name))
    known = SimpleNamespace(preset=name, digest=digest)
    assert board_preset(known)[0] == name  # type: ignore[arg-type]
    unknown = SimpleNamespace(preset=None, digest=digest)
    assert board_preset(unknown)[1] == load_preset(name)  # type: ignore[arg-type]
