"""Builds are kept by what they are made from, in a folder that several processes and clones may share."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from testbench.design import design_of
from testbench.planted import FaultyRegister
from testbench.simulator import build
from testbench.toolchain import build_folder, cache_folder

TINY = "module tiny(input clk, input a, output reg b); always @(posedge clk) b <= a; endmodule"


def test_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("CONIC_CACHE", raising=False)
    monkeypatch.setenv("CONIC_BUILD", str(tmp_path / "build"))
    assert cache_folder() == build_folder() == tmp_path / "build"
    monkeypatch.setenv("CONIC_CACHE", str(tmp_path / "cache"))
    assert (cache_folder(), build_folder()) == (tmp_path / "cache", tmp_path / "build")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that is empty in the beginning."""
    return tmp_path_factory.mktemp("cache")


def test_two_at_once_build_one(tmp_path, cache):
    program = f"from testbench.simulator import build; print(build({TINY!r}, top='tiny')[1])"
    environment = {name: value for name, value in os.environ.items() if name != "SIM"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
            env=environment | {"CONIC_CACHE": str(cache), "CONIC_BUILD": str(tmp_path / f"build{number}")},
        )
        for number in range(2)
    ]
    first, second = (process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert first == second
    folder = Path(first.strip())
    assert folder.parent == cache / "benches"
    assert (folder / "tiny").exists()
    assert not (tmp_path / "build0" / "benches").exists()


def test_other_text_is_another_build(monkeypatch, cache):
    monkeypatch.setenv("CONIC_CACHE", str(cache))
    monkeypatch.setenv("SIM", "verilator")
    _, one = build(TINY, top="tiny")
    program = one / "tiny"
    before = program.stat().st_mtime_ns
    assert build(TINY, top="tiny")[1] == one
    assert program.stat().st_mtime_ns == before
    assert build(TINY.replace("<= a", "<= !a"), top="tiny")[1] != one


def test_a_recipe_is_converted_once(monkeypatch, tmp_path):
    monkeypatch.setenv("CONIC_CACHE", str(tmp_path))
    recipe = partial(FaultyRegister, fault="none")
    design = design_of(recipe)
    assert design == design_of(FaultyRegister(fault="none"))
    monkeypatch.setattr("testbench.design.to_verilog", lambda *_, **__: pytest.fail("converted again"))
    assert design_of(partial(FaultyRegister, fault="none")) == design
    with pytest.raises(pytest.fail.Exception):
        design_of(partial(FaultyRegister, fault="swaps"))


def test_arguments_must_say_what_they_are():
    with pytest.raises(ValueError, match=r"^arguments of testbench\.planted\.FaultyRegister must be values that say"):
        design_of(partial(FaultyRegister, fault=object()))
