"""Endpoints of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

from firmware_models.abi.formats import NODE_BITS, VP_BITS
from firmware_models.config import Config

from .error import require


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """NIC, virtual port and data addresses of one rank.

    Members
    -------
    node_id, vp : int
        NIC and virtual port.
    local_addr : int, optional
        The operand in host memory; needed by RDMA descriptors that take one.
    result_addr : int
        Address of the result. With ``local_addr == result_addr`` the operation is in place.
    operand : bytes, optional
        The operand itself, for MP descriptors.
    """

    node_id: int
    vp: int
    local_addr: int | None = None
    result_addr: int = 0
    operand: bytes | None = None


def check_endpoints(endpoints: Sequence[Endpoint], n_nodes: int, config: Config) -> None:
    """Refuses endpoints that the hardware does not have, or that overlap, with :class:`ScheduleError`."""
    require(len(endpoints) == n_nodes, "endpoints", f"{n_nodes}, one per node", len(endpoints))
    flit = config.datapath.flit_bytes
    taken: set[int] = set()
    for rank, endpoint in enumerate(endpoints):
        require(
            0 <= endpoint.node_id < 1 << NODE_BITS and endpoint.node_id not in taken, f"node_id of rank {rank}",
            f"0 to {(1 << NODE_BITS) - 1} and used once", endpoint.node_id,
        )
        taken.add(endpoint.node_id)
        n_vps = min(config.nic.n_vps, 1 << VP_BITS)
        require(0 <= endpoint.vp < n_vps, f"vp of rank {rank}", f"0 to {n_vps - 1}", endpoint.vp)
        for name, address in (("local_addr", endpoint.local_addr or 0), ("result_addr", endpoint.result_addr)):
            require(
                0 <= address < 1 << 64 and address % flit == 0, f"{name} of rank {rank}", f"a multiple of {flit} bytes",
                address,
            )
