"""Every file that a person can hand in, mutated: it is taken, or refused in one short line by the reader's own error.

Seeds are small valid files; hypothesis cuts, doubles, swaps and inserts in them, and shrinks what breaks a reader. The
number of examples is bounded; ``make test-long`` tries forty times as many.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sim.goal
from firmware_models.config import ConfigError, load_config, parse_config
from firmware_models.connections.error import ConnectionsError
from firmware_models.connections.trace.goal import read_goal
from firmware_models.connections.trace.table_file import read_csv
from firmware_models.files import FileError, parse_json, parse_yaml
from firmware_models.routing.formats.fabric_read import read_network
from firmware_models.routing.formats.fabric_write import ibnetdiscover_text, net_text
from firmware_models.routing.formats.groups_read import read_groups
from firmware_models.routing.formats.sa_dump import sa_dump_text
from firmware_models.routing.formats.tables_read import read_tables
from firmware_models.routing.network import Groups, RoutingError
from firmware_models.routing.topology import parse_topology
from sim.cli.command.run import command as run_command
from sim.faults.script import FaultScriptError, load_faults
from sim.goal import GoalError, load_plan
from sim.goal.check import check as check_goal
from sim.host.load import HostError, load_host_file
from sim.model.congestion.error import CongestionError
from sim.model.congestion.flow_file import read_flows, write_flows
from sim.model.congestion.flows import Flow
from sim.model.congestion.topology import dumbbell
from sim.model.congestion.topology_file import read_topology, write_topology
from testbench.reduce.testfloat import TestFloatError, _batches

SHORT, LONG = 60, 2400
"""Examples of a reader: in every run of the tests, and in the long ones."""
NETWORK = parse_topology("fat-tree:4")
TOKENS = (
    "", " ", "\n", "\t", "\0", "\ufeff", "0", "-1", "9" * 5000, "1e999", "nan", "0x", "0xffffffffffffffffff", "１２",
    "٣", "&a [*a]", "*a", "<<: {}", "!!python/object:os.system x", "[" * 200, "{" * 200, "- " * 200, '"', "'", "#", ":",
    "}", "]", "true", "~", "[1](2)", "rank 0 {", "l1: send 8b to 0", "requires", "%", "\N{MINUS SIGN}1", "\x85", "é",
    ",", ";",
)
CONFIG = "base: small\nnic:\n  n_cous: 4\n  get: false\ncou: {buffer_mode: linear}\nreduce:\n  datatypes: [float64]\n"
YAML_FABRIC = (Path(__file__).parents[1] / "sim" / "data" / "two_level.yaml").read_text()
GOAL = (
    "num_ranks 2\nrank 0 {\nl1: calc 10\nl2: send 8b to 1 tag 3\nl2 requires l1\n}\n"
    "rank 1 {\nr: recv 8b from 0 tag 3\n}\n"
)
VECTOR = f"{'3FF0' + '0' * 12} {'4000' + '0' * 12} {'4008' + '0' * 12} 00\n"


@dataclass(frozen=True)
class Reader:
    """A reader, a seed, the error that it may raise, and the name of its file."""

    read: Callable[[Path], Any]
    seed: str
    error: type[Exception]
    name: str = "x"


def of_network(read: Callable[[Path, Any], Any]) -> Callable[[Path], Any]:
    """A reader of files that speak of the network."""
    return lambda path: read(path, NETWORK)


def _run_file(path: Path) -> Any:
    context = click.Context(run_command)
    option = next(param for param in run_command.params if param.name == "run_file")
    assert option.callback is not None
    return option.callback(context, option, path)


def _goal_plan(path: Path) -> Any:
    plan = load_plan(path)
    check_goal(plan, eager_bytes=64)
    return plan


def _testfloat(path: Path) -> Any:
    return list(_batches(io.BytesIO(path.read_bytes()), digits=16))


def _written(write: Callable[..., None], what: Any, folder: Path) -> str:
    write(what, folder / "seed")
    return (folder / "seed").read_text()


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    """All of them; seeds that this project writes are written here."""
    folder = tmp_path_factory.mktemp("seeds")
    pair, groups = dumbbell(2), Groups.of([[0, 1], [2, 3]], names=["a", "b"])
    return {
        "config": Reader(load_config, CONFIG, ConfigError, "x.yaml"),
        "run-file": Reader(_run_file, "nodes: 4\nsize: 4KiB\njson: true\nalgorithm: ring\n", click.UsageError),
        "fabric-yaml": Reader(read_network, YAML_FABRIC, RoutingError, "x.yaml"),
        "ibnetdiscover": Reader(read_network, ibnetdiscover_text(NETWORK), RoutingError, "x.txt"),
        "ibsim": Reader(read_network, net_text(NETWORK), RoutingError, "x.net"),
        "groups-yaml": Reader(of_network(read_groups), "groups:\n  a: [0, 1]\n  b: [2, 3]\n", RoutingError, "x.yaml"),
        "sa-dump": Reader(of_network(read_groups), sa_dump_text(NETWORK, groups), RoutingError, "x.dump"),
        "tables": Reader(of_network(read_tables),
                         f"Switch 0x{int(NETWORK.switch_guids[0]):016x}\nLID    : Out Port(s)\n0xc000 : 0x001 0x002\n",
                         RoutingError),
        "goal": Reader(lambda path: read_goal(path, None), GOAL, ConnectionsError, "x.goal"),
        "goal-plan": Reader(_goal_plan, Path(sim.goal.__file__).with_name("example.goal").read_text(), GoalError),
        "csv": Reader(lambda path: read_csv(path, 4), "source,destination,bytes\n0,1,8\n1,2,9\n", ConnectionsError),
        "hpcc-topology": Reader(read_topology, _written(write_topology, pair, folder), CongestionError),
        "hpcc-flows": Reader(lambda path: read_flows(path, pair),
                             _written(write_flows, [Flow(0, 3, 1000, 5), Flow(1, 2, 9, 0)], folder), CongestionError),
        "testfloat": Reader(_testfloat, VECTOR * 3, TestFloatError),
        "host": Reader(load_host_file, "base: server\ncpu: {cores: 8}\n", HostError, "x.yaml"),
        "faults": Reader(load_faults, "events:\n- {kind: stop, node: 0, at: 100}\n", FaultScriptError, "x.yaml"),
    }


NAMES = ("config", "run-file", "fabric-yaml", "ibnetdiscover", "ibsim", "groups-yaml", "sa-dump", "tables", "goal",
         "goal-plan", "csv", "hpcc-topology", "hpcc-flows", "testfloat", "host", "faults")
EDITS = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 40), st.one_of(st.sampled_from(TOKENS), st.text(max_size=6)),
              st.booleans()),
    min_size=1, max_size=6,
)


def mutated(seed: str, edits: list[tuple[int, int, str, bool]]) -> str:
    """The seed with parts cut out or doubled and something put in."""
    text = seed
    for where, length, token, is_doubled in edits:
        at = where % (len(text) + 1)
        cut = text[at:at + length]
        text = text[:at] + (cut * 2 if is_doubled else "") + token + text[at + length:]
    return text


def check(reader: Reader, text: str, folder: Path) -> bool:
    """True if the reader takes the text; anything but that and a short line of its own error is a failure."""
    path = folder / reader.name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        reader.read(path)
    except reader.error as error:
        words = error.message if isinstance(error, click.ClickException) else str(error)
        assert 0 < len(words) < 2000, words[:200]
        assert "\n" not in " ".join(words.split())
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_seed_is_taken(name: str, readers: dict[str, Reader], tmp_path: Path) -> None:
    """The seed of the mutations is valid."""
    assert check(readers[name], readers[name].seed, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_byte_order_mark(name: str, readers: dict[str, Reader], tmp_path: Path) -> None:
    """A file that an editor has put one in front of is the same file: taken, and refused, with the same words."""
    reader = readers[name]
    for text in (reader.seed, "?" + reader.seed, reader.seed.replace("0", "\u0660"), ""):
        said = []
        for mark in ("", "\ufeff"):
            path = tmp_path / reader.name
            path.write_text(mark + text, encoding="utf-8")
            try:
                reader.read(path)
                said.append("")
            except reader.error as error:
                said.append(str(error))
        assert said[0] == said[1]


def _fuzz(name: str, readers: dict[str, Reader], folder: Path, examples: int) -> None:
    taken = []

    @settings(max_examples=examples, deadline=5000, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(EDITS)
    def fuzz(edits: list[tuple[int, int, str, bool]]) -> None:
        taken.append(check(readers[name], mutated(readers[name].seed, edits), folder))

    fuzz()
    assert not all(taken), "no mutation was refused"


@pytest.mark.parametrize("name", NAMES)
def test_mutations(name: str, readers: dict[str, Reader], tmp_path: Path) -> None:
    _fuzz(name, readers, tmp_path, SHORT)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_many_mutations(name: str, readers: dict[str, Reader], tmp_path: Path) -> None:
    _fuzz(name, readers, tmp_path, LONG)


@settings(max_examples=200, deadline=5000, derandomize=True, database=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(text: str) -> None:
    """YAML, JSON and configurations of whatever characters."""
    for parse in (parse_yaml, parse_json, lambda words: parse_config(words, source="x")):
        words = ""
        try:
            parse(text)
        except (FileError, ConfigError) as error:
            words = str(error)
        assert len(words) < 2000
