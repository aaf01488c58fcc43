"""Where on an ECP5 the parts of a design gather.

The placer begins with all wires as springs: everything goes to where the pins are, and two parts that are alike come to
lie in each other. Block RAMs that are fixed far apart draw the parts that use them to different places.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

Place = tuple[int, int]
"""Column and row of a device."""

_rows = (22, 46, 70, 82)
_columns = tuple(
    (first + 9 * group + 2 * site, site)
    for first, groups in ((4, 7), (69, 6)) for group in range(groups) for site in range(4)
)

BLOCK_RAMS: dict[str, Mapping[Place, str]] = {
    "85k": {(column, row): f"X{column}/Y{row}/EBR{site}" for row in _rows for column, site in _columns},
}
"""Block RAMs of a device as nextpnr calls them, by their place."""

HALVES: dict[str, tuple[Place, Place]] = {"85k": ((32, 48), (95, 48))}
"""The middle of the left half of a device, and that of the right one."""


def gather(netlist: Path, *, top: str, device: str, blocks: Mapping[str, Place]) -> dict[str, str]:
    """Fixes the block RAMs of blocks around places of their own, in the netlist itself.

    Parameters
    ----------
    netlist : Path
        JSON netlist of :func:`fpga.synthesis.synthesise`.
    top : str
        Its module.
    device : str
        A key of :data:`BLOCK_RAMS`.
    blocks : mapping of str to Place
        Blocks by the names that their cells begin with, and where each is to gather.

    Returns
    -------
    dict of str to str
        Where each cell has been fixed, as nextpnr names it.

    Raises
    ------
    ValueError
        If the places of the device are not known here, or a block has no block RAM, or more than the device has left.
    """
    if device not in BLOCK_RAMS:
        raise ValueError(f"device must be one of {', '.join(BLOCK_RAMS)}, not {device!r}")
    design = json.loads(netlist.read_text())
    cells = design["modules"][top]["cells"]
    free = dict(BLOCK_RAMS[device])
    fixed: dict[str, str] = {}
    for block, place in blocks.items():
        names = sorted(n for n, cell in cells.items() if cell["type"] == "DP16KD" and n.startswith(f"{block}."))
        if not names:
            raise ValueError(f"block must have block RAM, and {block!r} has none")
        near = _by_distance(free, place)
        for name in names:
            site = next(near, None)
            if site is None:
                raise ValueError(f"block must fit the {device}, and {block!r} has {len(names)} block RAMs")
            fixed[name] = cells[name].setdefault("attributes", {})["BEL"] = free.pop(site)
    netlist.write_text(json.dumps(design))
    return fixed


def _by_distance(free: Mapping[Place, str], place: Place) -> Iterator[Place]:
    def distance(site: Place) -> tuple[int, Place]:
        return sum((a - b) ** 2 for a, b in zip(site, place, strict=True)), site

    return iter(sorted(free, key=distance))
