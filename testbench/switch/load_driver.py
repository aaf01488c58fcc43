"""Runs a switch at full load: the RTL in Verilator, driven and checked from C++ (``load_driver.cpp``).

``conic bench switch`` is its command line.
"""

import json
from pathlib import Path
from typing import Any

from firmware_models.abi.formats import PACKET_HEADER
from firmware_models.abi.register import REGISTER_BYTES
from firmware_models.abi.registers import MFT_BLOCK_ENTRIES, MFT_GROUP_PORTS, SWITCH_PAGE
from firmware_models.config import Config
from rtl.emit import emit_verilog
from testbench.verilated_program import build_program, run

PATTERNS = ("uniform", "permutation", "hotspot", "multicast", "latency")
_main = Path(__file__).with_suffix(".cpp")


def build(config: Config) -> Path:
    """Builds the driver around the switch of a configuration; returns the program."""
    return build_program(
        "switch-load", emit_verilog("switch", config), top="conic_switch", main=_main,
        generated={"shape.h": _shape(config)},
    )


def drive(
    config: Config, pattern: str, *, payload_flits: int = 0, fanout: int = 1, roots: int | None = None,
    cycles: int = 20_000, warmup: int = 5_000, seed: int = 1,
) -> dict[str, Any]:
    """Sends at full load and counts what comes out.

    Parameters
    ----------
    config : Config
        The switch.
    pattern : str
        One of :data:`PATTERNS`.
    payload_flits : int
        Flits of every packet after its header.
    fanout : int
        Ports of a multicast beside the sender's, 1 to radix - 1.
    roots : int, optional
        How many ports send: all, if not given.
    cycles, warmup : int
        Cycles that are counted, and those before.
    seed : int
        Of destinations and sets.

    Returns
    -------
    dict
        What ``load_driver.cpp`` counts.

    Raises
    ------
    VerilatedProgramError
        If the driver does not build or run to its end.
    """
    radix = config.switch.radix
    if pattern not in PATTERNS:
        raise ValueError(f"pattern must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    if not 1 <= fanout < radix:
        raise ValueError(f"fanout must be from 1 to {radix - 1}, not {fanout!r}")
    if pattern == "multicast" and config.switch.mft_entries < radix:
        raise ValueError(f"switch.mft_entries must be at least the radix ({radix}), not {config.switch.mft_entries!r}")
    arguments = [pattern, payload_flits, fanout, radix if roots is None else roots, cycles, warmup, seed]
    result = run([str(build(config)), *map(str, arguments)], allowed=(0, 1))
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def _shape(config: Config) -> str:
    """Text with the configuration, the formats and the registers, for the C++."""
    ports = " ".join(f"X({port})" for port in range(config.switch.radix))
    registers = {register.name: register.offset for register in SWITCH_PAGE}
    constants = {
        "kRadix": config.switch.radix, "kFlitBytes": config.datapath.flit_bytes, "kHeaderFlits": config.header_flits,
        "kBufferFlits": config.link.buffer_flits, "kMftEntries": config.switch.mft_entries,
        "kTableSelect": registers["table_select"], "kTablePort": registers["table_port"],
        "kMftBlock": registers["mft_block"], "kMftMask": registers["mft_mask"],
        "kMftBlockShift": SWITCH_PAGE["mft_block"]["block"].low,
        "kMftGroupShift": SWITCH_PAGE["mft_block"]["group"].low,
        "kMftBlockEntries": MFT_BLOCK_ENTRIES, "kMftGroupPorts": MFT_GROUP_PORTS, "kRegisterBytes": REGISTER_BYTES,
    }
    names = {"Length": "length", "Multicast": "multicast", "Dest": "dest_id", "Mlid": "mlid", "Source": "source_id"}
    for constant, name in names.items():
        word, bit = divmod(PACKET_HEADER.offset(name), 64)
        constants |= {f"k{constant}Word": word, f"k{constant}Bit": bit}
    lines = "".join(f"constexpr unsigned {name} = {value};\n" for name, value in constants.items())
    return f"#pragma once\n#define PORTS(X) {ports}\n{lines}"
