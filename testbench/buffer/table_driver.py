"""Churns a tag table at full speed: the RTL in Verilator, driven and checked from C++ (``table_driver.cpp``).

``conic buffer`` is its command line.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from firmware_models.abi import formats
from rtl.buffer.cuckoo_table import CuckooTable
from rtl.buffer.linear_table import LinearTable
from testbench.buffer.key_patterns import keys_of
from testbench.design import to_verilog
from testbench.verilated_program import build_program, run

MODES = ("cuckoo", "linear")
LOOKUP_CYCLES = {"cuckoo": 4, "linear": 0}
"""Promised latency of a look-up; 0: none is promised."""
_main = Path(__file__).with_suffix(".cpp")
_key_words = (formats.HASH_KEY.width + 31) // 32


class LoadError(ValueError):
    """A table cannot be that full."""


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """Which table.

    Parameters
    ----------
    mode : str
        ``cuckoo`` or ``linear``.
    entries : int
        Entries, a power of two.
    banks, ways, stash, max_kicks : int
        Of the cuckoo table.
    """

    mode: str = "cuckoo"
    entries: int = 4096
    banks: int = 4
    ways: int = 4
    stash: int = 8
    max_kicks: int = 32

    def make(self) -> CuckooTable | LinearTable:
        """The table; slot numbers have a bit to spare, so that packets in flight have slots as well.

        Raises
        ------
        ValueError
            If there is no such table.
        """
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        slot_bits = bits_for(self.entries - 1) + 1
        if self.mode == "linear":
            return LinearTable(n_entries=self.entries, slot_bits=slot_bits)
        return CuckooTable(
            n_entries=self.entries, slot_bits=slot_bits, banks=self.banks, ways=self.ways, stash=self.stash,
            max_kicks=self.max_kicks,
        )


class _Boundary(wiring.Component):
    """A table with plain ports, and no errors made on purpose."""

    def __init__(self, table: CuckooTable | LinearTable):
        self.table = table
        inputs, outputs = self._ports(table)
        super().__init__({
            **{name: In(len(value)) for name, value in inputs.items()},
            **{name: Out(len(value)) for name, value in outputs.items()},
        })

    @staticmethod
    def _ports(table: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        inputs = {
            "insert_valid": table.insert.valid, "insert_key": table.insert.payload.key.as_value(),
            "insert_slot": table.insert.payload.slot, "remove_valid": table.remove.valid,
            "remove_key": table.remove.payload.key.as_value(), "remove_slot": table.remove.payload.slot,
            "lookup_valid": table.lookup.valid, "lookup_key": table.lookup.payload.as_value(),
            "o_lookup_ready": table.o_lookup.ready,
        }
        outputs = {
            "insert_ready": table.insert.ready, "remove_ready": table.remove.ready,
            "lookup_ready": table.lookup.ready, "o_lookup_valid": table.o_lookup.valid,
            "answer_hit": table.o_lookup.payload.hit, "answer_slot": table.o_lookup.payload.slot,
            "answer_error": table.o_lookup.payload.error,
            **{name: getattr(table, name) for name in (
                "done", "duplicate", "done_slot", "removed", "removed_slot",
            )},
            **{name: getattr(table.figures, name) for name in ("settled", "steps", "stash_level")},
        }
        return inputs, outputs

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = self.table
        inputs, outputs = self._ports(self.table)
        m.d.comb += [value.eq(getattr(self, name)) for name, value in inputs.items()]
        m.d.comb += [getattr(self, name).eq(value) for name, value in outputs.items()]
        return m


def build(shape: TableShape) -> Path:
    """Builds the driver of a table, once for equal content; returns the program."""
    text = to_verilog(_Boundary(shape.make()), name="tag_table")
    return build_program(
        "tag-table", text, top="tag_table", main=_main, flags=[f"-DKEY_WORDS={_key_words}"],
        options=["--x-initial", "unique"],
    )


def churn(
    shape: TableShape, *, load: float, operations: int, keys: str = "random", seed: int = 0, pause: int = 20,
    lookups: int = 80,
) -> dict[str, Any]:
    """Fills a table to `load` of its entries, then keeps it there while keys come, go and are looked up.

    Parameters
    ----------
    shape : TableShape
        The table.
    load : float
        Keys over entries, above 0 and at most 1.
    operations : int
        Insertions, removals and look-ups to be answered.
    keys : str
        One of :data:`~testbench.buffer.key_patterns.PATTERNS`.
    seed : int
        Of keys, pauses and choices.
    pause : int
        Per cent of cycles in which a source pauses.
    lookups : int
        Per cent of cycles in which a look-up is offered.

    Returns
    -------
    dict
        What ``table_driver.cpp`` counts, and `log`: the first mismatches in words.

    Raises
    ------
    LoadError
        If the table cannot be that full.
    VerilatedProgramError
        If the driver does not build or run.
    """
    if not 0 < load <= 1:
        raise LoadError(f"load must be above 0 and at most 1, not {load!r}")
    target = max(1, int(load * shape.entries))
    if shape.mode == "linear" and target == shape.entries:
        raise LoadError(f"load of mode linear must leave an entry empty, not {load!r}")
    # More keys than fit, so that a key that comes back is not the one that went last.
    n_keys = 2 * shape.entries + 128
    program = build(shape)
    arguments = [
        "hostile" if keys == "adversarial" else "strict", str(operations), str(target), str(shape.entries + 32),
        str(LOOKUP_CYCLES[shape.mode]), str(seed), str(pause), str(lookups),
    ]
    numbers = list(islice(_distinct(keys_of(keys, shape=shape, numbers=Random(seed))), n_keys))
    text = "".join(f"{number:x}\n" for number in numbers)
    result = run([str(program), *arguments], allowed=(0, 1), text=text)
    report: dict[str, Any] = json.loads(result.stdout)
    return report | {"log": result.stderr}


def _distinct(keys: Iterable[int]) -> Iterator[int]:
    seen: set[int] = set()
    for key in keys:
        if key not in seen:
            seen.add(key)
            yield key
