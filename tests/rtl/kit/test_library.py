# amaranth: UnusedElaboratable=no
"""Modules that stand in the Verilog once, and Verilog without a library, in which each stands in its place."""

import re
from collections import Counter

import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.emit import emit_verilog
from rtl.kit.library import ModuleLibrary, shared
from testbench.unit_config import UNIT


class Delay(wiring.Component):
    """A register of `width` bits."""

    def __init__(self, width):
        super().__init__({"i": In(width), "o": Out(width), "nothing": Out(0)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class Line(wiring.Component):
    """Registers of the `widths` behind each other, all of one module."""

    def __init__(self, widths):
        self.widths = widths
        super().__init__({"i": In(4), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        value = self.i
        for number, width in enumerate(self.widths):
            delay = Delay(width)
            m.submodules[f"delay_{number}"] = shared("delay", delay, platform)
            m.d.comb += delay.i.eq(value)
            value = delay.o
        m.d.comb += self.o.eq(value)
        return m


def test_without_a_library_nothing_is_left_out():
    text = verilog.convert(Line([4, 4]))
    assert len(re.findall(r"^module ", text, re.MULTILINE)) == 3


def test_instances_have_the_ports_of_the_component():
    library = ModuleLibrary()
    text = verilog.convert(Line([4, 4]), platform=library)
    assert list(library.modules) == ["delay"]
    assert len(re.findall(r"^module ", text, re.MULTILINE)) == 1
    instances = re.findall(r"^  delay delay_\d \(\n(.*?)\n  \);", text, re.MULTILINE | re.DOTALL)
    assert [set(re.findall(r"\.(\w+)\(", ports)) for ports in instances] == [{"clk", "rst", "i", "o"}] * 2


def test_other_ports_under_one_name():
    with pytest.raises(ValueError, match=r"^shared module delay must have the ports of <.*Delay.*>, not those of <"):
        verilog.convert(Line([4, 3]), platform=ModuleLibrary())


def test_every_module_of_a_nic_stands_once():
    config = UNIT.changed(
        datapath={"data_width": 128, "mtu": 128}, nic={"n_vps": 4, "n_cous": 2},
        cou={"n_jobs": 2, "n_contexts": 4, "sequence_depth": 4, "buffer_bytes": 4096, "n_peers": 4},
    )
    text = emit_verilog("nic", config)
    names = re.findall(r"^module (\\\S+|\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names))
    instances = Counter(re.findall(r"^  (conic_\w+) \w+ \($", text, re.MULTILINE))
    assert instances == {
        "conic_offload_unit": 2, "conic_direct_lane": 2, "conic_float64_add_64": 2, "conic_float32_add_32": 4,
        "conic_float64_multiply_64": 2, "conic_float32_multiply_32": 4, "conic_int_multiply_64": 2,
        "conic_int_multiply_32": 2,
    }
