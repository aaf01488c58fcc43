"""Writes the generated page of the ABI and its diagrams: ``python -m firmware_models.abi docs/abi.md``."""

import sys
from pathlib import Path

from .bit_diagram import bit_diagram, register_diagram
from .formats import FORMATS
from .markdown import PAGES, abi_page


def generated(page: Path) -> dict[Path, str]:
    """Every generated file with its text; the diagrams stand in a folder of the page's name."""
    folder = page.with_suffix("")
    files = {folder / f"{fmt.name}.svg": bit_diagram(fmt) for fmt in FORMATS}
    files |= {folder / f"{name}_registers.svg": register_diagram(f"registers of {name}", registers)
              for name, registers in PAGES.items() if any(not register.is_number for register in registers)}
    return {page: abi_page(diagrams=folder.name), **files}


if __name__ == "__main__":
    for path, text in generated(Path(sys.argv[1])).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
