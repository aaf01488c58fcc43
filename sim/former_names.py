"""Modules of ``sim`` that have moved, by the names that programs of earlier versions import them by.

Importing one gives the module itself, with a :class:`DeprecationWarning` that says where it stands.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

FORMER_NAMES = {
    "sim.activities": "sim.cluster.activities",
    "sim.bounds": "sim.operation.bounds",
    "sim.congestion": "sim.model.congestion",
    "sim.diagnosis": "sim.operation.diagnosis",
    "sim.engine": "sim.environment.engine",
    "sim.multicast": "sim.cluster.multicast",
    "sim.pace": "sim.collective.pace",
    "sim.renewal": "sim.operation.renewal",
    "sim.request": "sim.operation.request",
    "sim.session": "sim.operation.session",
    "sim.stalls": "sim.cluster.stalls",
    "sim.threads": "sim.environment.threads",
    "sim.topology": "sim.fabric.topology",
    "sim.unicast": "sim.fabric.unicast",
}
"""Where modules stand, by their former names; those of a package follow it."""


class FormerNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their former names."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns a spec if `fullname` is a former name, otherwise None."""
        return importlib.machinery.ModuleSpec(fullname, self) if self._moved_to(fullname) else None

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> None:
        """Leaves the module to the importer: another one takes its place."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module that has moved in the place of `module`."""
        former, name = module.__name__, self._moved_to(module.__name__)
        warnings.warn(f"{former} has moved: import {name}", DeprecationWarning, stacklevel=2)
        sys.modules[former] = importlib.import_module(name)

    @staticmethod
    def _moved_to(name: str) -> str:
        """Name of today of a module, empty if it has not moved."""
        for former, today in FORMER_NAMES.items():
            if name == former or name.startswith(f"{former}."):
                return today + name.removeprefix(former)
        return ""
