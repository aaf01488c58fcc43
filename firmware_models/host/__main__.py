"""``python -m firmware_models.host docs/host.md`` writes the page of the host library."""

import sys
from pathlib import Path

from .page import host_page

EXAMPLE = Path(__file__).resolve().parents[2] / "sim" / "example" / "host_library.py"

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(host_page(EXAMPLE))
