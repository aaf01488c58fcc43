"""Yosys as a program with the options that SymbiYosys uses: ``python yosys.py -ql LOG SCRIPT``.

The native build of the `pyosys` package: many times faster than one in WebAssembly on runs as short as these.
"""

import sys

from pyosys import libyosys


def main(arguments: list[str]) -> None:
    """Runs a script."""
    match arguments:
        case ["-ql", log, script]:
            command = f'tee -q -o "{log}" script {script}'
        case _:
            sys.exit(f"usage: yosys.py -ql LOG SCRIPT, not {' '.join(arguments)}")
    libyosys.Design().run_pass(command)


if __name__ == "__main__":
    main(sys.argv[1:])
