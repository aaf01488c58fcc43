"""Record of the benches that passed: so that the edit loop need not run again what cannot have changed."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbench.design import Design
from testbench.toolchain import build_folder, cache_folder


def key_of(design: Design, *, bench: str, parameters: Mapping[str, Any], testcase: str | None, tools: str) -> str:
    """Hash of all that decides over a run but its seed: Verilog, bench and golden models, parameters, tools.

    Of what the bench imports from `rtl` the Verilog speaks.
    """
    from testbench.imports import distances, source_of

    digest = hashlib.sha256()
    for module in sorted(distances([bench])):
        if not module.startswith("rtl."):
            digest.update(source_of(module).read_bytes())
    asked = json.dumps([bench, parameters, testcase, tools], sort_keys=True)
    digest.update(f"{asked}\0{design.verilog}".encode())
    return digest.hexdigest()[:20]


def passes_count() -> bool:
    """True if passes are kept and looked up: as `make test-fast` wants it, unless a seed or a waveform is asked for."""
    return "CONIC_SKIP_PASSED" in os.environ and not {"CONIC_SEED", "CONIC_WAVES"} & os.environ.keys()


def last_pass(key: str) -> dict[str, Any] | None:
    """Record of the last pass; None if there was none."""
    path = _record(key)
    return json.loads(path.read_text()) if path.exists() else None


def record_pass(key: str, known: Mapping[str, Any]) -> None:
    """Keeps what JSON can represent of a pass."""
    path = _record(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(dict(known)))
    part.replace(path)


def _record(key: str) -> Path:
    return cache_folder() / "passed" / f"{key}.json"


def usual_seconds(name: str) -> float | None:
    """Wall time of the last run of bench `name` that passed; None if there was none."""
    path = _seconds_file(name)
    return float(path.read_text()) if path.exists() else None


def record_seconds(name: str, seconds: float) -> None:
    """Keeps the wall time of a run that passed. One that failed, or hung, tells nothing of what it should take."""
    path = _seconds_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(f"{seconds:.3f}")
    part.replace(path)


def _seconds_file(name: str) -> Path:
    return build_folder() / "bench-seconds" / hashlib.sha256(name.encode()).hexdigest()[:20]
