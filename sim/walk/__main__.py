"""``python -m sim.walk FOLDER``: simulates, then writes ``walk.json`` and all pictures into the folder.

``python -m sim.walk --draw FOLDER`` only draws them again from the ``walk.json`` that is there.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from sim.environment.engine import ENVIRONMENT, Engine
from sim.walk.figures import measure, pictures, timeline


def main(arguments: list[str]) -> None:
    """Writes the files."""
    *flags, folder = arguments
    if set(flags) - {"--draw"}:
        sys.exit(f"sim.walk: arguments must be [--draw] FOLDER, not {' '.join(arguments)}")
    target = Path(folder)
    if "--draw" not in flags:
        with tempfile.TemporaryDirectory() as waves:
            # The names that stages are looked up by: where a value enters a module, the lanes have but one of them.
            os.environ[ENVIRONMENT] = Engine.VERILATOR.value
            (target / "walk.json").write_text(json.dumps(measure(Path(waves)), indent=1) + "\n")
        (target / "allreduce_timeline.svg").write_text(timeline())
    for name, draw in pictures(json.loads((target / "walk.json").read_text())).items():
        (target / f"{name}.svg").write_text(draw())


if __name__ == "__main__":
    main(sys.argv[1:])
