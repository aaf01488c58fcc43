"""The register map: one source for decoder, C header, host library and documentation.

Registers are 32 bits wide and little-endian on AXI4-Lite with 24-bit byte addresses. The control page
(below :data:`VP_PAGES`) belongs to the kernel; each VP has a page of its own (:data:`VP_PAGE_BYTES`
apart), so that user processes can be given theirs and no other.
"""

from dataclasses import dataclass
from enum import Enum

ADDRESS_BITS = 24
ID_VALUE = 0x434F4E43
"""ASCII "CONC"."""
VERSION_VALUE = 1
VP_PAGES = 0x800000
VP_PAGE_BYTES = 0x1000
COUNTERS = 0x200


class Access(Enum):
    """How software may use a register."""

    RO = "ro"
    RW = "rw"
    WO = "wo"
    W1C = "w1c"
    """Read; write ones to clear."""


@dataclass(frozen=True)
class Register:
    """One 32-bit register: byte `offset` in its page, significant `width` bits, reset value.

    With `count` above 1 it is a row of equal registers, 4 bytes apart.
    """

    name: str
    offset: int
    access: Access
    doc: str
    width: int = 32
    reset: int = 0
    count: int = 1


CONTROL_PAGE = (
    Register("id", 0x000, Access.RO, "Reads 0x434F4E43.", reset=ID_VALUE),
    Register("version", 0x004, Access.RO, "Version of the register map.", reset=VERSION_VALUE),
    Register("control", 0x008, Access.RW, "Bit 0: enable. While 0, no descriptor is fetched.", width=1),
    Register("status", 0x00C, Access.RO, "Bit 0: some operation is in progress.", width=1),
    Register("node_id", 0x010, Access.RW, "NodeID of this NIC.", width=24),
    Register("n_vps", 0x014, Access.RO, "Virtual ports.", width=12),
    Register("n_cous", 0x018, Access.RO, "Collective offload units.", width=8),
    Register("data_width", 0x01C, Access.RO, "Bits of a flit.", width=16),
    Register("mtu", 0x020, Access.RO, "Largest payload of a packet, bytes.", width=16),
    Register("cycles_lo", 0x024, Access.RO, "Cycle counter, low half; reading it latches the high half."),
    Register("cycles_hi", 0x028, Access.RO, "Cycle counter, high half as latched."),
    Register("irq_status", 0x02C, Access.W1C, "Bit 0: a completion or a receive entry has been written.", width=1),
    Register("irq_enable", 0x030, Access.RW, "Mask for irq_status.", width=1),
    Register("watchdog", 0x034, Access.RW, "Cycles without progress after which an operation times out; 0 never."),
    Register("n_groups", 0x038, Access.RO, "Multicast groups that this NIC can be a member of at once.", width=9),
    Register("group_select", 0x03C, Access.RW, "Entry of the membership table that group_entry shows.", width=8),
    Register("group_entry", 0x040, Access.RW, "Bits 23:0 MGID, bit 31 joined: writing joins or leaves. Bits 30:24 read 0."),
    Register("n_windows", 0x044, Access.RO, "Memory windows of each VP.", width=7),
    Register("retry_limit", 0x048, Access.RW, "Cycles for which a unit is offered to a block without a place for it, before it ends in NO_PLACE; 0 forever."),
    Register("vp_select", 0x100, Access.RW, "VP that vp_commit and window_commit configure.", width=11),
    Register("vp_dq_base_lo", 0x104, Access.RW, "Descriptor ring, low half; a multiple of 128."),
    Register("vp_dq_base_hi", 0x108, Access.RW, "Descriptor ring, high half."),
    Register("vp_dq_log2", 0x10C, Access.RW, "Log2 of the descriptors in the ring, at most 15.", width=4),
    Register("vp_cq_base_lo", 0x110, Access.RW, "Completion ring, low half; a multiple of 64."),
    Register("vp_cq_base_hi", 0x114, Access.RW, "Completion ring, high half."),
    Register("vp_cq_log2", 0x118, Access.RW, "Log2 of the completions in the ring, at most 15.", width=4),
    Register("vp_rq_base_lo", 0x11C, Access.RW, "Receive ring, low half; a multiple of 128."),
    Register("vp_rq_base_hi", 0x120, Access.RW, "Receive ring, high half."),
    Register("vp_rq_log2", 0x124, Access.RW, "Log2 of the entries in the receive ring, at most 15.", width=4),
    Register("vp_window_base_lo", 0x128, Access.RW, "Memory window: first byte, low half."),
    Register("vp_window_base_hi", 0x12C, Access.RW, "Memory window: first byte, high half."),
    Register("vp_window_limit_lo", 0x130, Access.RW, "Memory window: first byte after it, low half."),
    Register("vp_window_limit_hi", 0x134, Access.RW, "Memory window: first byte after it, high half."),
    Register("vp_commit", 0x138, Access.WO, "Loads the record into vp_select's entry, its indexes to 0. Bit 0: enable. Bit 1: leave its windows as they are; else window 0 is the record's and the others are withdrawn.", width=2),
    Register("vp_window_rights", 0x13C, Access.RW, "Memory window: rights, a bit for each Right.", width=4, reset=0xF),
    Register("buffer_select", 0x140, Access.RW, "Offload unit whose packet buffer the registers buffer_* show, and whose states are counted.", width=4),
    Register("buffer_fault", 0x144, Access.WO, "Test only, builds with cou.ecc: the next write of bits 1:0 (1 tag, 2 header, 3 payload) has bits 3:2 errors (1, 2), from bit 11:4 on.", width=12),
    Register("buffer_slots", 0x148, Access.RO, "Packets that a buffer has memory for.", width=25),
    Register("buffer_packets", 0x14C, Access.RO, "Packets that it takes: its usable capacity.", width=25),
    Register("buffer_level", 0x150, Access.RO, "Packets there now.", width=25),
    Register("buffer_peak", 0x154, Access.RO, "Most packets there since reset.", width=25),
    Register("buffer_stash", 0x158, Access.RO, "Tags in the stash now.", width=8),
    Register("buffer_stash_peak", 0x15C, Access.RO, "Most tags in the stash since reset.", width=8),
    Register("buffer_steps_max", 0x160, Access.RO, "Most insertion steps of a tag since reset; saturates.", width=12),
    Register("buffer_unlent", 0x164, Access.RO, "Packets of the pool that are not lent now.", width=25),
    Register("buffer_level_sum_lo", 0x168, Access.RO, "Packets there, summed over the cycles since reset: over cycles, the mean. Reading it latches the high half."),
    Register("buffer_level_sum_hi", 0x16C, Access.RO, "High half as latched."),
    Register("buffer_steps_sum_lo", 0x170, Access.RO, "Insertion steps of all tags that found a place. Reading it latches the high half."),
    Register("buffer_steps_sum_hi", 0x174, Access.RO, "High half as latched."),
    Register("buffer_settled_lo", 0x178, Access.RO, "Tags that found a place: steps_sum over settled is the mean. Reading it latches the high half."),
    Register("buffer_settled_hi", 0x17C, Access.RO, "High half as latched."),
    Register("buffer_suspended_lo", 0x180, Access.RO, "Look-ups that found nothing, so that their reader waits. Reading it latches the high half."),
    Register("buffer_suspended_hi", 0x184, Access.RO, "High half as latched."),
    Register("buffer_corrected_lo", 0x188, Access.RO, "Errors of the memories put right. Reading it latches the high half."),
    Register("buffer_corrected_hi", 0x18C, Access.RO, "High half as latched."),
    Register("buffer_uncorrectable_lo", 0x190, Access.RO, "Errors of the memories that could not be put right. Reading it latches the high half."),
    Register("buffer_uncorrectable_hi", 0x194, Access.RO, "High half as latched."),
    Register("window_select", 0x1A0, Access.RW, "Window of vp_select's that window_commit configures.", width=6),
    Register("window_commit", 0x1A4, Access.WO, "Bit 0: registers vp_window_base, vp_window_limit and vp_window_rights as that window; 0 withdraws it.", width=1),
)

VP_PAGE = (
    Register("dq_prod", 0x000, Access.WO, "Doorbell: index after the last descriptor written. Publishes whole sequences.", width=16),
    Register("cq_cons", 0x004, Access.WO, "Index after the last completion read.", width=16),
    Register("rq_cons", 0x008, Access.WO, "Index after the last receive entry read.", width=16),
)
"""Indexes count entries and do not wrap at the ring's size but at 2**16."""


@dataclass(frozen=True)
class Counter:
    """A 64-bit event counter; the low half stands first. Reading the low half latches the high half."""

    name: str
    doc: str


EVENT_COUNTERS = (
    Counter("tx_packets", "Packets sent."),
    Counter("rx_packets", "Packets received, good or not."),
    Counter("rx_malformed", "Packets dropped: unknown type or version, or a length that does not match."),
    Counter("rx_wrong_node", "Packets dropped: another NodeID."),
    Counter("rx_unknown", "Packets dropped that belong to nothing here: answers to no operation in progress, credits for a job that has none out, loans that were never granted, collective packets for a VP that there is not."),
    Counter("descriptors", "Descriptors taken from the queues."),
    Counter("completions", "Completions written."),
    Counter("completion_errors", "Completions written with an error."),
    Counter("trigger_fires", "Collective descriptors executed (once a pulse)."),
    Counter("buffer_inserts", "Packets put into packet buffers."),
    Counter("rx_duplicates", "Collective packets dropped: their key was in the packet buffer already."),
    Counter("rx_not_joined", "Multicast packets dropped: of a group that is not joined, or sent by this NIC itself."),
    Counter("loans_granted", "Loans granted to peers: places of the packet buffers beyond their guaranteed credits."),
    Counter("loans_unused", "Loans that have come back without a packet."),
)

STATE_COUNTERS_AT = COUNTERS + 0x80
STATE_COUNTERS = (
    Counter("nothing", "Cycles in which the unit had nothing to do."),
    Counter("working", "Cycles in which a beat passed into the reduce unit, or into a packet."),
    Counter("packet", "Cycles in which it waited for a packet, or the rest of one."),
    Counter("operand", "Cycles in which it waited for an operand from host memory."),
    Counter("credit", "Cycles in which a packet could not leave for want of a credit."),
    Counter("output", "Cycles in which a beat was there, and neither network nor host memory took it."),
    Counter("trigger", "Cycles in which it was decided what is next, or results were on their way through the unit."),
)
"""Cycles of the offload unit in buffer_select by what it did or waited for
(:class:`~firmware_models.abi.encoding.UnitState`, in its order): they add up to the cycles since reset."""

SWITCH_PAGE = (
    Register("id", 0x000, Access.RO, "Reads 0x434F4E53.", reset=0x434F4E53),
    Register("version", 0x004, Access.RO, "Version of the register map.", reset=VERSION_VALUE),
    Register("radix", 0x008, Access.RO, "Ports.", width=8),
    Register("table_entries", 0x00C, Access.RO, "NodeIDs that the unicast table covers.", width=17),
    Register("default_port", 0x010, Access.RW, "Port of NodeIDs beyond the table.", width=6),
    Register("table_select", 0x014, Access.RW, "NodeID that table_port writes.", width=16),
    Register("table_port", 0x018, Access.WO, "Writes the port of table_select's entry. Reset value of the table: port 0.", width=6),
    Register("mft_entries", 0x01C, Access.RO, "MLIDs that the multicast forwarding table (MFT) covers, from 0xC000.", width=15),
    Register("mft_block", 0x020, Access.RW, "What mft_mask shows: bits 8:0 block of 32 MLIDs, bits 31:28 group of 16 ports."),
    Register("port_select", 0x024, Access.RW, "Port that the registers port_* and the counters show.", width=6),
    Register("port_credits", 0x028, Access.RO, "Credits that its output has: bits 15:0 channel 0, bits 31:16 channel 1."),
    Register("port_depth", 0x02C, Access.RO, "Flits that its input holds: bits 15:0 channel 0, bits 31:16 channel 1."),
    Register("port_depth_peak", 0x030, Access.RO, "Most flits that its input held since reset, likewise."),
    Register("mft_mask", 0x200, Access.RW, "Register n: ports of MLID 0xC000 + 32 block + n; bit b is port 16 group + b. Reset value of the table: no port.", width=16, count=32),
)
"""Registers of a switch, in its own address space."""

SWITCH_COUNTERS_AT = 0x040
SWITCH_COUNTERS = (
    Counter("rx_flits", "Flits that came in."),
    Counter("rx_packets", "Packets that came in."),
    Counter("tx_flits", "Flits sent, each copy on its own."),
    Counter("tx_packets", "Packets sent, likewise."),
    Counter("stalls_0", "Cycles in which the output was idle on channel 0, and a packet waited for credits of it."),
    Counter("stalls_1", "The same for channel 1."),
    Counter("discarded", "Multicasts that came in and were discarded: no port but the one that they came by."),
    Counter("malformed", "Packets that came in and were discarded: they ended before their destination."),
)
"""Counters of the port in port_select, as EVENT_COUNTERS."""
