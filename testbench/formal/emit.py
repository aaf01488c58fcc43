"""Writes the RTLIL of a proof's contract: ``python -m testbench.formal.emit PROOF FOLDER [MUTATION]``.

In a process of its own, so that a mutation is in every module that uses the broken one, and in no other run.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from amaranth.back import rtlil
from amaranth.hdl import Fragment

from testbench.formal.proof import Mutation
from testbench.formal.registry import find_proof


class MutantFinder(importlib.abc.MetaPathFinder):
    """Imports one module with a defect."""

    def __init__(self, mutation: Mutation):
        self.mutation = mutation

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.mutation.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None:
            return None
        return importlib.util.spec_from_loader(name, MutantLoader(self.mutation, spec.origin), origin=spec.origin)


class MutantLoader(importlib.abc.Loader):
    """Executes the changed source."""

    def __init__(self, mutation: Mutation, origin: str):
        self.mutation = mutation
        self.origin = origin

    def exec_module(self, module: ModuleType) -> None:
        source = self.mutation.apply(Path(self.origin).read_text())
        exec(compile(source, self.origin, "exec"), module.__dict__)


def main(arguments: Sequence[str]) -> None:
    """Writes ``check.il``, and ``reach.il`` and ``situations.json`` of a proof without defect."""
    proof = find_proof(arguments[0])
    folder = Path(arguments[1])
    if len(arguments) > 2:
        mutation = next(mutation for mutation in proof.mutations if mutation.name == arguments[2])
        if mutation.module in sys.modules:
            raise ValueError(f"{mutation.module} was imported before its mutation")
        sys.meta_path.insert(0, MutantFinder(mutation))
    contract = proof.make()
    # The free inputs are known once the contract is elaborated.
    design = Fragment.get(contract, None)
    text = rtlil.convert(design, name="top", ports={port.name: (port, None) for port in contract.ports}, emit_src=False)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "check.il").write_text(text)
    if len(arguments) == 2:
        # Every claim is put aside, and the claim that the situations do not all happen is put in their place.
        kept, other = 'parameter \\FLAVOR "assert"', 'parameter \\FLAVOR "cover"'
        (folder / "reach.il").write_text(text.replace(kept, "@").replace(other, kept).replace("@", other))
        (folder / "situations.json").write_text(json.dumps(contract.situations))


if __name__ == "__main__":
    main(sys.argv[1:])
