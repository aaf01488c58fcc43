"""Place and route, and the harness that units are measured in."""

import json
import re

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fpga.place import PATIENT_ROUTER, Part, PlacementError, configure, estimate, nextpnr, place
from fpga.reduce_figures import measure_adder
from fpga.synthesis import FAMILIES, synthesise
from fpga.unit import export, measure_unit

CHAIN = """module chain(input clk, input [31:0] a, output reg [31:0] o); reg [31:0] r;
           always @(posedge clk) begin r <= a; o <= r + {r[7:0], r[31:8]}; end endmodule"""
COMBINATIONAL = "module gate(input a, input b, output c); assign c = a ^ b; endmodule"


class Adder(wiring.Component):
    """A registered adder of `width` bits."""

    def __init__(self, width):
        self.width = width
        super().__init__({"a": In(width), "b": In(width), "sum": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += (total := Signal(self.width, reset_less=True)).eq(self.a + self.b)
        m.d.comb += self.sum.eq(total)
        return m


@pytest.fixture
def netlist(tmp_path):
    path = tmp_path / "design.json"
    synthesise(CHAIN, top="chain", keep=path)
    return path


def test_a_seed_gives_the_same_placement_every_time(netlist):
    first, again, other = (place(netlist, part=Part(), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.fmax_mhz == min(first.clocks.values())
    assert first.cells["TRELLIS_FF"] == other.cells["TRELLIS_FF"] == 64
    assert other.critical_path != first.critical_path


def test_the_critical_path_is_the_clock_period(netlist):
    """The delay of the path that is named, and the frequency, are two views of one figure."""
    placed = place(netlist, part=Part(), seed=1)
    begin, end, delay = placed.critical_path
    assert begin != end
    assert 1000 / placed.fmax_mhz == pytest.approx(delay, rel=0.01)


def test_an_estimate_is_near_what_routing_gives(netlist):
    routed = place(netlist, part=Part(), seed=1).fmax_mhz
    assert estimate(netlist, part=Part(), seed=1) == pytest.approx(routed, rel=0.3)


def test_a_smaller_device_of_a_slower_grade_is_slower(netlist):
    fast = place(netlist, part=Part(), seed=1)
    slow = place(netlist, part=Part(device="25k", speed=6, package="CABGA381"), seed=1)
    assert slow.critical_path[2] >= fast.critical_path[2]


def test_refusals(tmp_path):
    path = tmp_path / "gate.json"
    synthesise(COMBINATIONAL, top="gate", keep=path)
    with pytest.raises(PlacementError, match=r"^no path leads from register to register"):
        place(path, part=Part(), seed=1)
    with pytest.raises(PlacementError, match=r"^no path leads from register to register"):
        estimate(path, part=Part(), seed=1)
    with pytest.raises(PlacementError, match=r"[Pp]ackage"):
        estimate(path, part=Part(package="CABGA1"), seed=1)


def test_the_router_reads_the_settings_of_a_netlist(netlist):
    """They are among those that nextpnr has used, and what is no number is refused."""
    names = set(json.loads(netlist.read_text())["modules"]["chain"]["cells"])
    configure(netlist, top="chain", settings=PATIENT_ROUTER)
    nextpnr(netlist, Part(), 1, "--router", "router2", "--write", "routed.json")
    (module,) = json.loads(netlist.with_name("routed.json").read_text())["modules"].values()
    assert module["settings"].items() >= PATIENT_ROUTER.items()
    assert module["settings"]["route"]
    assert set(json.loads(netlist.read_text())["modules"]["chain"]["cells"]) == names

    configure(netlist, top="chain", settings=dict.fromkeys(PATIENT_ROUTER, "much"))
    with pytest.raises(PlacementError):
        nextpnr(netlist, Part(), 1, "--router", "router2")
    nextpnr(netlist, Part(), 1, "--router", "router1")  # Not among its settings.


def test_a_unit_is_counted_alone_and_placed_between_registers():
    figures = measure_unit(lambda: Adder(16), seeds=(1,))
    assert (figures.ff, figures.lut4eq, figures.dsp, figures.ram) == (16, 2 * figures.cells["CCU2C"], 0, 0)
    # An operand register holds what the next bit of the shift register holds, so Yosys makes one of the two: 32 and
    # one more. Then the unit's own and one a result bit, and the tree of four inputs a cell.
    assert figures.placements[0].cells["TRELLIS_FF"] == 33 + 16 + 16 + 4 + 1


def test_xilinx():
    cells = synthesise(export(Adder(16)), top="unit", family="xilinx")
    assert cells["FDRE"] == 16
    allowed = ", ".join(FAMILIES)
    with pytest.raises(ValueError, match=re.escape(f"family must be one of {allowed}, not 'ice40'")):
        synthesise(COMBINATIONAL, top="gate", family="ice40")


def test_the_adder_keeps_its_figures():
    """Deterministic for fixed seeds; all depths and seeds: ``conic fp --bench``."""
    figures = measure_adder(depths=[8], seeds=(1,))
    print(figures)
    assert figures["stages"] == 8
    assert figures["fmax_mhz"]["median"] >= 180
    assert figures["lut4eq"] <= 1250
    assert figures["dsp"] == figures["xilinx"]["dsp"] == 0
