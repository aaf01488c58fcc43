"""Where ranks run."""

from collections.abc import Sequence
from dataclasses import dataclass

from firmware_models.abi.formats import NODE_BITS, VP_BITS
from firmware_models.config import Config

from .error import require


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one rank runs, and where its data lie.

    Members
    -------
    node_id, vp : int
        NIC and virtual port.
    local_addr : int, optional
        The operand in host memory; needed by RDMA descriptors that take one.
    result_addr : int
        Where the result goes. With ``local_addr == result_addr`` the operation is in place.
    operand : bytes, optional
        The operand itself, for MP descriptors.
    """

    node_id: int
    vp: int
    local_addr: int | None = None
    result_addr: int = 0
    operand: bytes | None = None


def check_places(places: Sequence[Place], n_nodes: int, config: Config) -> None:
    """Refuses places that the hardware does not have, or that overlap, with :class:`ScheduleError`."""
    require(len(places) == n_nodes, "places", f"{n_nodes}, one per node", len(places))
    flit = config.datapath.flit_bytes
    taken: set[int] = set()
    for rank, place in enumerate(places):
        require(
            0 <= place.node_id < 1 << NODE_BITS and place.node_id not in taken, f"node_id of rank {rank}",
            f"0 to {(1 << NODE_BITS) - 1} and used once", place.node_id,
        )
        taken.add(place.node_id)
        n_vps = min(config.nic.n_vps, 1 << VP_BITS)
        require(0 <= place.vp < n_vps, f"vp of rank {rank}", f"0 to {n_vps - 1}", place.vp)
        for name, address in (("local_addr", place.local_addr or 0), ("result_addr", place.result_addr)):
            require(
                0 <= address < 1 << 64 and address % flit == 0, f"{name} of rank {rank}", f"a multiple of {flit} bytes",
                address,
            )
