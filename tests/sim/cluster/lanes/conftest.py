# amaranth: UnusedElaboratable=no
"""Checker of the generator: a design in the lanes of words against Amaranth's own simulator, port by port.

Nothing of ``sim.cluster.lanes`` has a part in what is expected.
"""

import os
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from rtl.simulation import ClusterPorts
from sim.cluster.lanes import generate
from sim.cluster.lanes.build import bank_archive
from sim.cluster.lanes.machine import Isa, isas_of_this_machine
from testbench.verilated_model import COMPILER, compiler_version, folder_of

SOURCES = Path(generate.__file__).parent
DRIVER = Path(__file__).with_name("driver.cpp")
NODES = 8
"""Different nodes, each with inputs of its own: those of a word are the first of them."""
_REGISTER_PORT = {
    1: "awready wready bvalid bresp arready rvalid rresp rdata",
    0: "awvalid awprot wvalid wstrb bready arvalid arprot rready awaddr araddr wdata",
}

Values = dict[str, int]
History = list[list[Values]]
"""Values of ports: of each node, in each cycle."""


@dataclass(frozen=True)
class Program:
    """A design as a program (driver.cpp)."""

    path: Path
    input_bytes: int
    pin_bytes: int
    inputs: dict[str, tuple[int, int]]
    outputs: dict[str, tuple[int, int]]

    def run(self, stimulus: History, *, seeds: Sequence[int], how: Sequence[int]) -> tuple[History, list[str]]:
        """Outputs of the nodes with these seeds, and what is said of assertions and of edges that were left out."""
        fed = bytearray()
        for cycle, one in enumerate(how):
            fed.append(one)
            for node in range(len(seeds)):
                pins = bytearray(self.input_bytes)
                for name, value in stimulus[node][cycle].items():
                    if name in self.inputs:
                        place, count = self.inputs[name]
                        pins[place:place + count] = value.to_bytes(count, "little")
                fed += pins
        result = subprocess.run(
            [str(self.path), "run", *map(str, seeds)], input=bytes(fed), capture_output=True, check=False,
        )
        assert result.returncode == 0, result.stderr.decode()
        size = self.pin_bytes - self.input_bytes
        history: History = [[] for _ in seeds]
        for at in range(0, len(result.stdout), size):
            pins = result.stdout[at:at + size]
            history[at // size % len(seeds)].append({
                name: int.from_bytes(pins[place - self.input_bytes:place - self.input_bytes + count], "little")
                for name, (place, count) in self.outputs.items()
            })
        return history, result.stderr.decode().splitlines()


def built(
    folder: Path, component: wiring.Component, *, lanes: int, isa: Isa,
    change: Callable[[str, str], str] = lambda _name, text: text,
) -> Program:
    """`component` as a program. `change` may plant an error into a file: it gets its name and text."""
    names = {level: [f"s_axil_{name}" for name in names.split()] for level, names in _REGISTER_PORT.items()}
    ports = ClusterPorts(ignored=tuple(names[0]), constant=dict.fromkeys(names[1], 0))
    code = generate.generate(
        "checked", component, lanes=lanes, symbol="checked_design", n_files=1, ports=ports, flit_bytes=8,
    )
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "part.cpp": code.files[0], "tables.cpp": code.tables, "lanes.h": (SOURCES / "lanes.h").read_text(),
    }
    for name, text in texts.items():
        (folder / name).write_text(change(name, text))
    program = folder / "program"
    compiled(
        *_flags(lanes, isa), f"-I{folder}", f"-I{SOURCES}", str(folder / "part.cpp"), str(folder / "tables.cpp"),
        str(_driver(lanes, isa)), str(bank_archive(lanes=lanes, isa=isa)), "-o", str(program),
    )
    said = subprocess.run([str(program), "ports"], capture_output=True, text=True, check=True).stdout.splitlines()
    input_bytes, pin_bytes = map(int, said[0].split())
    pins: list[dict[str, tuple[int, int]]] = [{}, {}]
    for line in said[1:]:
        name, _width, is_output, place, count = line.split()
        if not name.startswith("s_axil_") and name != "restless":
            pins[int(is_output)][name] = int(place), int(count)
    return Program(program, input_bytes, pin_bytes, *pins)


def planted(name: str, old: str, new: str) -> Callable[[str, str], str]:
    """A `change` for :func:`built` that puts `new` in the place of `old` in one file, where it has to stand."""
    def change(file: str, content: str) -> str:
        if file != name:
            return content
        assert old in content
        return content.replace(old, new)
    return change


def compiled(*arguments: str) -> None:
    """Runs the compiler."""
    result = subprocess.run([COMPILER, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]


def _flags(lanes: int, isa: Isa) -> tuple[str, ...]:
    return ("-std=c++20", "-O0", "-w", *isa.flags, f"-DLANES={lanes}", f"-DCONIC_ISA={isa.code}")


def _driver(lanes: int, isa: Isa) -> Path:
    """The object file of driver.cpp: the same for all designs."""
    texts = [path.read_text() for path in (DRIVER, SOURCES / "design.h", SOURCES.parent / "model.h")]
    with folder_of("lanes-driver", [compiler_version(), *_flags(lanes, isa), *texts]) as folder:
        made = folder / "driver.o"
        if not made.exists():
            include = (f"-I{SOURCES}", f"-I{SOURCES.parent}")
            compiled(*_flags(lanes, isa), *include, "-c", str(DRIVER), "-o", str(folder / "new.o"))
            (folder / "new.o").rename(made)
    return made


def drawn(
    component: wiring.Component, seed: int, *, cycles: int, rest: float = 0.5, resets: bool = True,
) -> History:
    """Inputs of each node: values near the ends of words and of carries, some equal to others; many rest.

    No resets for designs with memories that are read at the edge: Amaranth's simulator resets what was read, which the
    Verilog that it writes does not.
    """
    widths = {name: len(getattr(component, name)) for name in inputs_of(component)}
    return [
        [values | {"rst": values["rst"] & resets} for values in _drawn(
            random.Random(f"{seed} {node}"), widths | {"rst": 1}, cycles, rest,
        )] for node in range(NODES)
    ]


def _drawn(rng: random.Random, widths: dict[str, int], cycles: int, rest: float) -> Any:
    now = dict.fromkeys(widths, 0)
    for cycle in range(cycles):
        is_quiet = cycle % 8 in (5, 6)  # now and then nothing changes at all
        for name, width in widths.items():
            if name == "rst":
                now[name] = int(rng.random() < 0.05)
            elif not is_quiet and rng.random() >= rest:
                others = [now[other] for other, its in widths.items() if its == width] or [0]
                now[name] = _value(rng, width, others)
        yield dict(now)


def _value(rng: random.Random, width: int, others: Sequence[int]) -> int:
    kind = rng.randrange(8)
    if kind < 3:
        value = rng.getrandbits(width)
    elif kind == 3:
        value = rng.choice((0, 1, -1, 1 << width - 1, (1 << width - 1) - 1, -2))
    elif kind == 4:
        value = (1 << rng.randint(0, width)) - (1 << rng.randint(0, width))  # a run of ones
    elif kind == 5:
        value = rng.choice(others)
    elif kind == 6:
        value = rng.choice(others) ^ 1 << rng.randrange(width)
    else:
        value = rng.randint(0, 9)
    return value & (1 << width) - 1


def inputs_of(component: wiring.Component) -> list[str]:
    return [name for name, member in component.signature.members.items() if member.flow is wiring.In]


def expected(component: wiring.Component, stimulus: History) -> History:
    """Outputs of Amaranth's simulator."""
    around, domain = Module(), ClockDomain("sync")
    around.domains.sync = domain
    around.submodules.component = component
    simulator = Simulator(around)
    simulator.add_clock(1e-6)
    inputs = {name: getattr(component, name) for name in inputs_of(component)}
    outputs = {
        name: getattr(component, name) for name in component.signature.members if name not in inputs
    }
    history: History = []

    async def bench(ctx: Any) -> None:
        for cycle in stimulus[len(history) - 1]:
            for name, port in inputs.items():
                ctx.set(port, cycle[name])
            ctx.set(domain.rst, cycle["rst"])
            history[-1].append({name: ctx.get(port) for name, port in outputs.items()})
            await ctx.tick()

    simulator.add_testbench(bench)
    for node in range(len(stimulus)):
        history.append([])
        if node:
            simulator.reset()
        simulator.run()
    return history


def differences(found: History, wanted: History, most: int = 10) -> list[str]:
    """Where outputs are not what they should be, a line each: the first of each port."""
    lines: dict[str, str] = {}
    for node, cycles in enumerate(found):
        assert len(cycles) == len(wanted[node])
        for cycle, values in enumerate(cycles):
            for name, value in wanted[node][cycle].items():
                if values[name] != value and name not in lines:
                    lines[name] = f"{name}, node {node}, cycle {cycle}: {values[name]:#x}, not {value:#x}"
    return list(lines.values())[:most]


def machine_isas() -> list[Isa]:
    """The instructions that this machine has; those of CONIC_ISA only, if it is set."""
    return [isa for isa in isas_of_this_machine() if os.environ.get("CONIC_ISA", isa.name) == isa.name]


@pytest.fixture(scope="session")
def checker() -> SimpleNamespace:
    """The functions above."""
    return SimpleNamespace(
        built=built, drawn=drawn, expected=expected, differences=differences, planted=planted, isas=machine_isas(),
        nodes=NODES,
    )
