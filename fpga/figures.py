"""Measures what the hardware takes on an ECP5: ``python -m fpga.figures docs/figures/fpga.json``."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_models.config import load_preset
from fpga.synthesis import synthesise
from rtl.emit import TOPS, emit_verilog

PRESET = "small"


def measure() -> Iterator[dict[str, Any]]:
    """Yields a row per top."""
    for top in TOPS:
        cells = synthesise(emit_verilog(top, load_preset(PRESET)), top=f"conic_{top}")
        yield {"top": top, "preset": PRESET, "family": "ECP5", "cells": cells}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(list(measure()), indent=1) + "\n")
