"""Synthesis with Yosys: how many cells of each kind a design takes.

Yosys runs in a process of its own: an error in it ends the process, and its log would mix with this one's output.
"""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

_PROGRAM = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    design.run_pass(command)
"""


FAMILIES = ("ecp5", "xilinx", "series7", "ultrascale")
"""Families that Yosys can map to: Lattice ECP5; AMD UltraScale+ for parts, series 7 and UltraScale for devices."""

_DEVICES = {"series7": "xc7", "ultrascale": "xcu"}
"""Families of whole devices, whose designs have pads and clock buffers of their own, as Yosys calls them."""


READERS = {"verilog": "read_verilog -sv", "rtlil": "read_rtlil"}
"""How Yosys reads a design."""

_APART = ("select -set apart a:no_rw_check %m t:$memrd_v2 %i", "setparam -set COLLISION_X_MASK 1'1 @apart")
"""Commands that make Yosys heed the attribute of :class:`rtl.kit.memory.BlockMemory` in RTLIL as it does in Verilog: a
read of what is being written may give anything. Such a memory has one port of each kind, and a module of its own."""

_KEPT = ("select -set kept a:keep %ci1 t:$dff %i", "setattr -set keep 1 @kept")
"""Commands that keep registers which a design marks as kept from being merged: the attribute stands at their wires."""


WIRE_DELAY = 300
"""Picoseconds of a wire as Yosys takes them. In a large design they are nearer to a nanosecond: with as many, fewer
tables stand behind each other. There would be more of them, so they are then mapped with a longer script (`flow3`)."""


class SynthesisError(RuntimeError):
    """Yosys refused the design; the message is its last line."""


def synthesise(
    text: str, *, top: str, family: str = "ecp5", keep: Path | None = None, language: str = "verilog",
    wire_delay: int = WIRE_DELAY, delay_target: int | None = None,
) -> dict[str, int]:
    """Maps a design to the cells of an FPGA: a flat netlist for ECP5, the modules as they are for UltraScale+.

    Parameters
    ----------
    text : str
        The design.
    top : str
        Name of its top module.
    family : str
        A key of :data:`FAMILIES`.
    keep : Path, optional
        Where to leave the mapped netlist as JSON, for place and route.
    language : str
        A key of :data:`READERS`: what the design is written in. Its assertions are left out.
    wire_delay : int
        ECP5: what a wire takes, in ps, when it is decided how tables follow each other.
    delay_target : int, optional
        ECP5: ps that paths may take. Where they take less, fewer tables are made of them; without it, nowhere.

    Returns
    -------
    dict of str to int
        Cells of the whole design by type. ECP5: `LUT4`, `TRELLIS_FF`, `CCU2C`, `DP16KD`, `TRELLIS_DPR16X4`,
        `MULT18X18D`, ... UltraScale+: `LUT1` to `LUT6`, `FDRE`, `CARRY4`, `DSP48E2`, ...

    Raises
    ------
    ValueError
        If there is no such family or language.
    SynthesisError
        If Yosys does not take the design.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {family!r}")
    if language not in READERS:
        raise ValueError(f"language must be one of {', '.join(READERS)}, not {language!r}")
    with TemporaryDirectory() as folder:
        source, statistics = Path(folder, "design.v"), Path(folder, "stat.json")
        source.write_text(text)
        # ABC9 of Yosys 0.70 gives some of its wires the names of others, in designs with certain names: it ends in a
        # failed assertion then. Without names it does not.
        flat = ["flatten"] if family == "ecp5" else []
        nameless = [f"hierarchy -top {top}", "proc", *flat, "rename -hide w:*"]
        for preparation in ([], nameless):
            commands = [
                f'{READERS[language]} "{source}"',
                "chformal -remove",
                "delete t:$print",
                *((*_APART, *_KEPT) if language == "rtlil" else ()),
                *preparation,
                *_mapping(family, top, Path(folder), wire_delay, delay_target),
                *([] if keep is None else [f'write_json "{keep.resolve()}"']),
                f'tee -q -o "{statistics}" stat -json',
            ]
            program = [sys.executable, "-c", _PROGRAM, *commands]
            result = subprocess.run(program, capture_output=True, text=True, check=False)
            if "ERROR: Assert" not in result.stdout + result.stderr:
                break
        if result.returncode or not statistics.exists():
            lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()] or ["no output"]
            raise SynthesisError(next((line for line in reversed(lines) if "ERROR" in line), lines[-1]))
        cells = json.loads(statistics.read_text())["design"]["num_cells_by_type"]
    return {name: int(count) for name, count in sorted(cells.items()) if name != "$scopeinfo"}  # names, no cells


def _mapping(family: str, top: str, folder: Path, wire_delay: int, delay_target: int | None) -> list[str]:
    """The commands that map a design to cells; `folder` is for files that they read."""
    if family == "ecp5":
        script = f"synth_ecp5 -top {top}"
        if wire_delay == WIRE_DELAY and delay_target is None:
            return [script]
        target = [] if delay_target is None else [f"scratchpad -set abc9.D {delay_target}"]
        return [
            f"{script} -run begin:map_luts", "techmap -map +/lattice/latches_map.v",
            "scratchpad -copy abc9.script.flow3 abc9.script", *target, f"abc9 -W {wire_delay}", "clean",
            f"{script} -run map_cells:",
        ]
    if family in _DEVICES:
        return [f"synth_xilinx -family {_DEVICES[family]} -flatten -noiopad -noclkbuf -top {top}"]
    # The list of memories that comes with Yosys says that RAM512X1S has 16 address bits. So it is the cheapest for each
    # memory with one port and more than 256 words, and then the map of its cells does not know it.
    listed = files("pyosys").joinpath("share", "xilinx", "lutrams_xcu.txt").read_text()
    memories = folder / "lutrams.txt"
    memories.write_text(listed.replace('option "ABITS" 16', 'option "ABITS" 9').replace("abits 16;", "abits 9;"))
    script = f"synth_xilinx -family xcup -noiopad -noclkbuf -top {top} -run"
    return [
        f"{script} begin:map_memory",
        f'memory_libmap -logic-cost-rom 0.015625 -lib "{memories}" -lib +/xilinx/brams_xc4v.txt -D HAS_SIZE_36'
        " -D HAS_MIXWIDTH_SDP -D HAS_ADDRCE -lib +/xilinx/urams.txt -no-auto-huge",
        "techmap -map +/xilinx/lutrams_xc5v_map.v",
        "techmap -map +/xilinx/brams_xcu_map.v",
        "techmap -map +/xilinx/urams_map.v",
        f"{script} map_ffram:",
    ]
