"""What is shown to come to rest: small, but with all that the design has."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testbench.formal.proof import Mutation
from testbench.unit_config import UNIT

BASE: dict[str, dict[str, Any]] = {
    "datapath": {"data_width": 64, "mtu": 64},
    "nic": {"n_vps": 2, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 2, "max_burst_beats": 4, "n_groups": 1,
            "address_bits": 32},
    "cou": {"n_jobs": 2, "n_contexts": 2, "sequence_depth": 4, "buffer_bytes": 65536, "n_peers": 1, "n_blocks": 2,
            "intermediate_bytes": 64},
    "reduce": {"add_cycles": 5, "datatypes": ("float64", "int64"), "multiply": False},
    "link": {"buffer_flits": 32},
    "switch": {"radix": 3, "table_entries": 4, "mft_entries": 16, "match_iterations": 1, "readers": 1},
}
"""GET, shared credits and a cuckoo table are there; buffers for all guaranteed packets and some shared ones."""


@dataclass(frozen=True, kw_only=True)
class RestProof:
    """A design, and defects that must be found in it.

    Parameters
    ----------
    name : str
        Name on the command line.
    top : str
        ``nic``, ``switch`` or ``unit``.
    change : mapping
        Parts of the configuration that differ from :data:`BASE`.
    quick : bool
        True if the design takes seconds only.
    mutations : tuple of Mutation
        The defects.
    """

    name: str
    top: str
    change: dict[str, dict[str, Any]] = field(default_factory=dict)
    quick: bool = True
    mutations: tuple[Mutation, ...] = ()

    def build(self) -> Any:
        """The component, with the RTL as it is imported now."""
        from rtl.cou.offload_unit import OffloadUnit
        from rtl.emit import TOPS

        parts = {name: BASE[name] | self.change.get(name, {}) for name in BASE}
        return {**TOPS, "unit": OffloadUnit}[self.top](UNIT.changed(**parts))


def is_event(top: str) -> Callable[[str], bool]:
    """True if an input of this name is an event: an input of `Quiescence`, or the reset. Inline data are none: they
    follow a descriptor, which was one."""
    ends = ("_valid",) if top == "unit" else (
        "tvalid", "credit_valid", "_awvalid", "_wvalid", "_arvalid", "_rvalid", "_bvalid"
    )
    return lambda name: name in ("rst", "arm") or (name.endswith(ends) and not name.startswith("inline_data"))


UNSEEN = ("port_descriptor", "port_probe", "read_data", "rx_0_payload", "rx_1_payload", "window_answer", "write_done")
"""Streams of an offload unit whose payloads nothing follows while they are not valid."""

_OVER = "rtl.kit.quiescence"
_short = Mutation(name="drains-too-short", module=_OVER, old="DRAIN_CYCLES = 16", new="DRAIN_CYCLES = 8")
_deaf = Mutation(name="goes-on-through-events", module=_OVER, old="moved | self.event", new="moved")
_seen = Mutation(
    name="payload-taken-without-valid", module="rtl.buffer.packet_buffer", old="take.eq(payload.valid & receiving)",
    new="take.eq(receiving)",
)

REST_PROOFS = (
    RestProof(name="switch", top="switch", mutations=(
        _short, _deaf,
        Mutation(
            name="statistics-left-out", module="rtl.switch.switch", old="*outputs, statistics]", new="*outputs]",
        ),
        Mutation(
            name="patience-left-out", module="rtl.switch.matching", old="Cat(patient).any()", new="0",
        ),
        Mutation(
            name="table-follows-the-link", module="rtl.switch.route_table", old=", read.en.eq(lookup.enable)", new="",
        ),
    )),
    RestProof(name="unit", top="unit", quick=False, mutations=(
        Mutation(
            name="drains-too-short", module=_OVER, old="return 4 * DRAIN_CYCLES", new="return DRAIN_CYCLES",
        ),
        Mutation(
            name="trigger-left-out", module="rtl.cou.offload_unit", old='if name != "activity" and',
            new='if name not in ("activity", "trigger") and',
        ),
        Mutation(
            name="chance-runs-on", module="rtl.buffer.cuckoo_table", old="        with m.If(busy):\n",
            new="        if True:\n",
        ),
        Mutation(
            name="watchdog-left-out", module="rtl.cou.operation_table", old="(live != 0) & (self.watchdog != 0),",
            new="",
        ),
        Mutation(
            name="occupancy-left-out", module="rtl.buffer.packet_buffer", old="count.moves,", new="",
        ),
        Mutation(
            name="ring-runs-on", module="rtl.reduce.delay_line", old="        with m.If(self.enable):\n",
            new="        if True:\n",
        ),
        Mutation(
            name="offers-forgotten", module="rtl.cou.offload_unit",
            old="any_moves(self.moves, *(offer.valid for offer in offers))", new="self.moves",
        ),
        _seen,
    )),
    RestProof(name="unit-linear", top="unit", change={"cou": {"buffer_mode": "linear"}}, mutations=(
        Mutation(
            name="table-left-out", module="rtl.buffer.linear_table", old="self.moves.eq(updates | looks)",
            new="self.moves.eq(looks)",
        ),
        _seen,
    )),
    RestProof(name="nic", top="nic", quick=False, mutations=(
        Mutation(
            name="counters-left-out", module="rtl.nic.csr",
            old="self.moves.eq(front.moves | counters.moves | reads | taken)",
            new="self.moves.eq(front.moves | reads | taken)",
        ),
        Mutation(
            name="stamps-without-a-packet", module="rtl.p2p.delivery",
            old="                with m.If(self.i.valid):\n                    m.d.sync += stamp",
            new="                if True:\n                    m.d.sync += stamp",
        ),
        Mutation(
            name="inline-data-without-end", module="rtl.queue.descriptor_fetch", old="(sends & (at != n_words - 1))",
            new="sends",
        ),
    )),
)
