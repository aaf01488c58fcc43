"""Proof, and a deliberate defect that it must catch."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testbench.formal.contract import Contract
from testbench.formal.fragment import replaced

MODES = ("bmc", "prove")


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A defect: text of an RTL module that is replaced while it is imported; the file stays as it is.

    Parameters
    ----------
    name : str
        What is broken, in a few words joined by hyphens.
    module : str
        Import name of the RTL module.
    old : str
        A piece that stands exactly once in its source, token by token (:mod:`testbench.formal.fragment`).
    new : str
        What takes its place.
    """

    name: str
    module: str
    old: str
    new: str

    def apply(self, source: str) -> str:
        """The source with the defect.

        Raises
        ------
        ValueError
            If the piece does not stand exactly once in it.
        """
        if stale := self.stale(source):
            raise ValueError(stale)
        return replaced(source, self.old, self.new)[0]

    def stale(self, source: str) -> str:
        """Error text if the piece does not stand exactly once in the source; empty if it does."""
        count = replaced(source, self.old, self.new)[1]
        if count == 1:
            return ""
        return f"{self.name}: old must stand once in {self.module}, not {count} times: {self.old!r}"


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A contract, how it is proved, and what it must catch.

    Parameters
    ----------
    name : str
        Name on the command line.
    claim : str
        What is proved, in words.
    contract : str
        ``module:Class`` of the contract.
    parameters : mapping
        Keyword arguments of the contract.
    mode : str
        ``bmc``: holds in every run of `depth` cycles after reset. ``prove``: holds in every run of any length (property
        directed reachability); a defect is still looked for in `depth` cycles.
    depth : int
        Cycles.
    any_memory : bool
        If true, memories hold anything when reset ends, as in hardware; otherwise zeros, which makes the search smaller
        and is right where the unit clears them.
    mutations : tuple of Mutation
        At least one.
    quick : bool
        True if the proof takes seconds only, and so belongs to the tests of every change.
    """

    name: str
    claim: str
    contract: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "bmc"
    depth: int
    any_memory: bool = True
    mutations: tuple[Mutation, ...]
    quick: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, not {self.depth!r}")
        if not self.mutations:
            raise ValueError(f"mutations of {self.name} must be one or more, not none")

    def make(self) -> Contract:
        """The contract, with the RTL as it is imported now."""
        module, _, name = self.contract.partition(":")
        contract = getattr(importlib.import_module(module), name)(**self.parameters)
        assert isinstance(contract, Contract)
        return contract
