"""Designs for which the claim is shown: small, but with all that the full design has."""

from dataclasses import dataclass, field
from typing import Any

from testbench.formal.proof import Mutation
from testbench.unit_config import UNIT

_BASE: dict[str, dict[str, Any]] = {
    "datapath": {"data_width": 64, "mtu": 64},
    "nic": {"n_vps": 2, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 2, "max_burst_beats": 4, "n_groups": 1,
            "address_bits": 32},
    "cou": {"n_jobs": 2, "n_contexts": 2, "sequence_depth": 4, "buffer_bytes": 65536, "n_peers": 1, "n_blocks": 2,
            "intermediate_bytes": 64},
    "reduce": {"add_cycles": 5, "datatypes": ("float64", "int64"), "multiply": False},
    "link": {"buffer_flits": 32},
}
"""Shared credits and a cuckoo table are there; buffers for all guaranteed packets and some shared ones."""

STREAMS = (
    "commands_sequence_descriptor", "commands_sequence_probe", "memory_read_data", "rx_0_payload", "rx_1_payload",
    "memory_window_answer", "memory_write_done",
)
"""Streams into an offload unit whose payloads nothing follows while they are not valid."""

MUTATIONS = (
    Mutation(
        name="payload-taken-without-valid", module="rtl.buffer.packet_buffer",
        old="take.eq(payload.valid & receiving)", new="take.eq(receiving)",
    ),
    Mutation(
        name="loaded-without-an-item", module="rtl.kit.register",
        old="with m.If(taken if self.guarded else ~full):", new="with m.If(~full):",
    ),
)
"""Defects that must be found."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """An offload unit.

    Parameters
    ----------
    name : str
        Name on the command line.
    cou : mapping
        What differs in the section ``cou``.
    """

    name: str
    cou: dict[str, Any] = field(default_factory=dict)

    def build(self) -> Any:
        """The component, with the RTL as it is imported now."""
        from rtl.cou.offload_unit import OffloadUnit

        return OffloadUnit(UNIT.changed(**{**_BASE, "cou": _BASE["cou"] | self.cou}))


DESIGNS = (Design(name="unit"), Design(name="unit-linear", cou={"buffer_mode": "linear"}))
