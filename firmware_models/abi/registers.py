"""The register map: one source for decoder, C header, host library and documentation.

Registers are 32 bits wide and little-endian on AXI4-Lite with 24-bit byte addresses. The control page
(below :data:`VP_PAGES`) belongs to the kernel; each VP has a page of its own (:data:`VP_PAGE_BYTES`
apart), so that user processes can be given theirs and no other.
"""

from collections.abc import Iterable

from .encoding import Right
from .member_doc import member_docs
from .register import Access, Register, RegisterField, Winner, flag, number
from .register_page import Counter, Counters, Page

ADDRESS_BITS = 24
ID_VALUE = 0x434F4E43
"""ASCII "CONC"."""
VERSION_VALUE = 1
VP_PAGES = 0x800000
VP_PAGE_BYTES = 0x1000
COUNTERS = 0x200
INDEX_BITS = 16
"""Of the indexes of rings, which wrap at 2**16 and not at the ring's size."""
SWITCH_ID_VALUE = 0x434F4E53
"""ASCII "CONS"."""

_right_docs = member_docs(Right)

_link_fields = (
    flag("up", 0, Access.RO, "The other end has been heard, and hears this one."),
    flag("refused", 1, Access.RO, "The other end is built otherwise, or has been reset alone: both have to be reset."),
    flag("dead", 2, Access.RO, "The link has been down for `link.dead_cycles`: what is to be sent is thrown away."),
)

CONTROL_PAGE = Page((
    number("id", 0x000, Access.RO, "Reads 0x434F4E43.", reset=ID_VALUE),
    number("version", 0x004, Access.RO, "Version of the register map.", reset=VERSION_VALUE),
    Register("control", 0x008, "What the whole NIC does.", (
        flag("enable", 0, Access.RW, "While 0, no descriptor is fetched."),
    )),
    Register("status", 0x00C, "What the whole NIC is doing.", (
        flag("busy", 0, Access.RO, "Some operation is in progress."),
    )),
    number("node_id", 0x010, Access.RW, "NodeID of this NIC.", width=24),
    number("n_vps", 0x014, Access.RO, "Virtual ports.", width=12),
    number("n_cous", 0x018, Access.RO, "Collective offload units.", width=8),
    number("data_width", 0x01C, Access.RO, "Bits of a flit.", width=16),
    number("mtu", 0x020, Access.RO, "Largest payload of a packet, bytes.", width=16),
    number("cycles_lo", 0x024, Access.RO, "Cycle counter, low half; reading it latches the high half."),
    number("cycles_hi", 0x028, Access.RO, "Cycle counter, high half as latched."),
    Register("irq_status", 0x02C, "Causes of the interrupt.", (
        flag("written", 0, Access.W1C, "A completion or a receive entry has been written.", winner=Winner.HARDWARE),
    )),
    Register("irq_enable", 0x030, "Causes that raise the interrupt; the same bits as irq_status.", (
        flag("written", 0, Access.RW, "A completion or a receive entry has been written."),
    )),
    number("watchdog", 0x034, Access.RW, "Cycles without progress after which an operation times out; 0 never."),
    number("n_groups", 0x038, Access.RO, "Multicast groups that this NIC can be a member of at once.", width=9),
    number("group_select", 0x03C, Access.RW, "Entry of the membership table that group_entry shows.", width=8),
    Register("group_entry", 0x040, "Entry group_select of the membership table: what is written to it, it holds.", (
        RegisterField("mgid", 23, 0, Access.RW, "MGID: the group's number."),
        flag("joined", 31, Access.RW, "Multicasts to the group are taken."),
    )),
    number("n_windows", 0x044, Access.RO, "Memory windows of each VP.", width=7),
    number("retry_limit", 0x048, Access.RW, "Cycles for which a unit is offered to a block that has no room for it, before it ends in NO_PLACE; 0 forever."),
    number("job_select", 0x050, Access.RW, "JobID that job_control is about.", width=8),
    Register("job_control", 0x054, "Order about job_select; a write without a flag only looks. The write is answered when job_state shows its outcome.", (
        flag("close", 0, Access.WO, "Closes the job: its sequences end in JOB_CLOSED, the one in progress too; packets of it are dropped, their credits returned."),
        flag("open", 1, Access.WO, "Opens the job, if nothing of it is left here: else it stays closed. It works as new."),
        flag("refuse", 2, Access.WO, "Closes the job, if nothing of it is left here, and lets no packet of it in until it is opened: for JobIDs that nobody here uses."),
        flag("write_off", 3, Access.WO, "Of a closed job without an operation: credits and shared credits that peers hold, and packets, are lost; it is at rest. For those that a link has thrown away, when nothing of the job can be on its way any more."),
    )),
    Register("job_state", 0x058, "How the job of the last write to job_control stood after it.", (
        RegisterField("kept", 24, 0, Access.RO, "Packets of the job here, and shared credits that peers hold."),
        flag("refused", 28, Access.RO, "No packet of the job is let in."),
        flag("owing", 29, Access.RO, "Credits that peers have not returned."),
        flag("in_progress", 30, Access.RO, "An operation."),
        flag("closed", 31, Access.RO, "The job is closed."),
    )),
    Register("link_state", 0x05C, "The NIC's end of its link; one without `link.reliable` is always up.", _link_fields),
    number("answer_key_lo", 0x060, Access.WO, "Low half of the key from which the nonces of point-to-point operations are made. The kernel writes a random key before it enables the NIC; with key 0, which reset leaves, whoever knows this page can compute the nonces."),
    number("answer_key_hi", 0x064, Access.WO, "High half of the key. A write of either half discards the nonces made ahead."),
    number("vp_select", 0x100, Access.RW, "VP that vp_commit and window_commit configure.", width=11),
    number("vp_dq_base_lo", 0x104, Access.RW, "Descriptor ring, low half; a multiple of 128."),
    number("vp_dq_base_hi", 0x108, Access.RW, "Descriptor ring, high half."),
    number("vp_dq_log2", 0x10C, Access.RW, "Log2 of the descriptors in the ring, at most 15.", width=4),
    number("vp_cq_base_lo", 0x110, Access.RW, "Completion ring, low half; a multiple of 64."),
    number("vp_cq_base_hi", 0x114, Access.RW, "Completion ring, high half."),
    number("vp_cq_log2", 0x118, Access.RW, "Log2 of the completions in the ring, at most 15.", width=4),
    number("vp_rq_base_lo", 0x11C, Access.RW, "Receive ring, low half; a multiple of 128."),
    number("vp_rq_base_hi", 0x120, Access.RW, "Receive ring, high half."),
    number("vp_rq_log2", 0x124, Access.RW, "Log2 of the entries in the receive ring, at most 15.", width=4),
    number("vp_window_base_lo", 0x128, Access.RW, "Memory window: first byte, low half."),
    number("vp_window_base_hi", 0x12C, Access.RW, "Memory window: first byte, high half."),
    number("vp_window_limit_lo", 0x130, Access.RW, "Memory window: first byte after it, low half."),
    number("vp_window_limit_hi", 0x134, Access.RW, "Memory window: first byte after it, high half."),
    Register("vp_commit", 0x138, "Loads the record into vp_select's entry, its indexes to 0.", (
        flag("enable", 0, Access.WO, "The VP is enabled."),
        flag("keep_windows", 1, Access.WO, "Its windows stay as they are; else window 0 is the record's and the others are withdrawn."),
    )),
    Register("vp_window_rights", 0x13C, "Memory window: what it may be used for.", tuple(
        flag(right.name.lower(), int(right), Access.RW, _right_docs[right.name], reset=1) for right in Right
    )),
    number("buffer_select", 0x140, Access.RW, "Offload unit whose packet buffer the registers buffer_* show, and whose states are counted.", width=4),
    Register("buffer_fault", 0x144, "Test only, builds with cou.ecc: spoils the next write of a memory of the packet buffer.", (
        RegisterField("memory", 1, 0, Access.WO, "Which memory: 1 tag, 2 header, 3 payload (FaultMemory)."),
        RegisterField("errors", 3, 2, Access.WO, "How many bits of the word are wrong: 1 or 2, one after the other."),
        RegisterField("first_bit", 11, 4, Access.WO, "The first of them."),
    )),
    number("buffer_slots", 0x148, Access.RO, "Packets that a buffer has memory for.", width=25),
    number("buffer_packets", 0x14C, Access.RO, "Packets that it takes: its usable capacity.", width=25),
    number("buffer_level", 0x150, Access.RO, "Packets there now.", width=25),
    number("buffer_peak", 0x154, Access.RO, "Most packets there since reset.", width=25),
    number("buffer_stash", 0x158, Access.RO, "Tags in the stash now.", width=8),
    number("buffer_stash_peak", 0x15C, Access.RO, "Most tags in the stash since reset.", width=8),
    number("buffer_steps_max", 0x160, Access.RO, "Most insertion steps of a tag since reset; saturates.", width=12),
    number("buffer_unlent", 0x164, Access.RO, "Slots of the pool that are not granted as shared credits now.", width=25),
    number("buffer_level_sum_lo", 0x168, Access.RO, "Packets there, summed over the cycles since reset: over cycles, the mean. Reading it latches the high half."),
    number("buffer_level_sum_hi", 0x16C, Access.RO, "High half as latched."),
    number("buffer_steps_sum_lo", 0x170, Access.RO, "Insertion steps of all tags that found a way. Reading it latches the high half."),
    number("buffer_steps_sum_hi", 0x174, Access.RO, "High half as latched."),
    number("buffer_settled_lo", 0x178, Access.RO, "Tags that found a way: steps_sum over settled is the mean. Reading it latches the high half."),
    number("buffer_settled_hi", 0x17C, Access.RO, "High half as latched."),
    number("buffer_suspended_lo", 0x180, Access.RO, "Look-ups that found nothing, so that their reader waits. Reading it latches the high half."),
    number("buffer_suspended_hi", 0x184, Access.RO, "High half as latched."),
    number("buffer_corrected_lo", 0x188, Access.RO, "Errors of the memories put right. Reading it latches the high half."),
    number("buffer_corrected_hi", 0x18C, Access.RO, "High half as latched."),
    number("buffer_uncorrectable_lo", 0x190, Access.RO, "Errors of the memories that could not be put right. Reading it latches the high half."),
    number("buffer_uncorrectable_hi", 0x194, Access.RO, "High half as latched."),
    number("window_select", 0x1A0, Access.RW, "Window of vp_select's that window_commit configures.", width=6),
    Register("window_commit", 0x1A4, "Loads vp_window_base, vp_window_limit and vp_window_rights into window window_select of vp_select.", (
        flag("enable", 0, Access.WO, "The window is registered; 0 withdraws it."),
    )),
))

VP_PAGE = Page((
    number("dq_prod", 0x000, Access.WO, "Doorbell: index after the last descriptor written. Publishes whole sequences.", width=INDEX_BITS),
    number("cq_cons", 0x004, Access.WO, "Index after the last completion read.", width=INDEX_BITS),
    number("rq_cons", 0x008, Access.WO, "Index after the last receive entry read.", width=INDEX_BITS),
))
"""Indexes count entries and do not wrap at the ring's size but at 2**16."""


def vp_address(vp: int, name: str) -> int:
    """Address of register `name` of virtual port `vp`'s page."""
    return VP_PAGES + vp * VP_PAGE_BYTES + VP_PAGE[name].offset


def rights_word(rights: Iterable[Right]) -> int:
    """The word of vp_window_rights that grants `rights` and no others."""
    return CONTROL_PAGE["vp_window_rights"].pack(**{right.name.lower(): 1 for right in set(rights)})


LINK_COUNTERS = (
    Counter("link_falls", "Times that the link went down (`link.reliable`)."),
    Counter("link_damaged", "Control words that came damaged."),
    Counter("link_stomped", "Packets that came damaged after a part of them had been handed on: they were marked, and dropped where they went."),
    Counter("link_repeated", "Runs of flits that had come before, and were passed over."),
    Counter("link_replays", "Times that the other end asked for packets to be sent again."),
    Counter("link_timeouts", "Times that packets were sent again since nothing was acknowledged."),
)
"""Of one end of a reliable link, NIC or switch; all 0 without `link.reliable`."""

EVENT_COUNTERS = Counters(COUNTERS, (
    Counter("tx_packets", "Packets sent."),
    Counter("rx_packets", "Packets received, good or not."),
    Counter("rx_malformed", "Packets dropped: unknown type or version, or a length that does not match."),
    Counter("rx_wrong_node", "Packets dropped: another NodeID."),
    Counter("rx_unknown", "Packets dropped that belong to nothing here: answers to no operation in progress, credits for a job that has none out, shared credits that were never granted, collective packets for a VP that there is not."),
    Counter("descriptors", "Descriptors taken from the queues."),
    Counter("completions", "Completions written."),
    Counter("completion_errors", "Completions written with an error."),
    Counter("trigger_fires", "Collective descriptors executed (once a pulse)."),
    Counter("buffer_inserts", "Packets put into packet buffers."),
    Counter("rx_duplicates", "Collective packets dropped: their key was in the packet buffer already."),
    Counter("rx_not_joined", "Multicast packets dropped: of a group that is not joined, or sent by this NIC itself."),
    Counter("loans_granted", "Shared credits granted to peers: slots of the packet buffers beyond their guaranteed credits."),
    Counter("loans_unused", "Shared credits that were returned without a packet."),
    Counter("rx_closed", "Collective packets dropped: of a job that is closed."),
    Counter("rx_uncovered", "Collective packets dropped: no credit of this NIC covers them, or their job is refused."),
    Counter("tx_lost", "Packets thrown away because the link was down for too long; of those that had been sent some may have come."),
    *LINK_COUNTERS,
    Counter("rx_forged", "Packets dropped that bear the number of a point-to-point operation of this NIC, and come from another node or VP than it asked, or without its nonce."),
))

STATE_COUNTERS_AT = COUNTERS + 0x100
STATE_COUNTERS = Counters(STATE_COUNTERS_AT, (
    Counter("nothing", "Cycles in which the unit had nothing to do."),
    Counter("working", "Cycles in which a beat passed into the reduce unit, or into a packet."),
    Counter("packet", "Cycles in which it waited for a packet, or the rest of one."),
    Counter("operand", "Cycles in which it waited for an operand from host memory."),
    Counter("credit", "Cycles in which a packet could not leave for want of a credit."),
    Counter("output", "Cycles in which a beat was there, and neither network nor host memory took it."),
    Counter("trigger", "Cycles in which it was decided what is next, or results were on their way through the unit."),
))
"""Cycles of the offload unit in buffer_select by what it did or waited for
(:class:`~firmware_models.abi.encoding.UnitState`, in its order): they add up to the cycles since reset."""

SWITCH_PAGE = Page((
    number("id", 0x000, Access.RO, "Reads 0x434F4E53.", reset=SWITCH_ID_VALUE),
    number("version", 0x004, Access.RO, "Version of the register map.", reset=VERSION_VALUE),
    number("radix", 0x008, Access.RO, "Ports.", width=8),
    number("table_entries", 0x00C, Access.RO, "NodeIDs that the unicast table covers.", width=17),
    number("default_port", 0x010, Access.RW, "Port of NodeIDs beyond the table.", width=6),
    number("table_select", 0x014, Access.RW, "NodeID that table_port writes.", width=16),
    number("table_port", 0x018, Access.WO, "Writes the port of table_select's entry. Reset value of the table: port 0.", width=6),
    number("mft_entries", 0x01C, Access.RO, "MLIDs that the multicast forwarding table (MFT) covers, from 0xC000.", width=15),
    Register("mft_block", 0x020, "Which part of the multicast forwarding table mft_mask shows.", (
        RegisterField("block", 8, 0, Access.RW, "Block of 32 MLIDs."),
        RegisterField("group", 31, 28, Access.RW, "Group of 16 ports."),
    )),
    number("port_select", 0x024, Access.RW, "Port that the registers port_* and the counters show.", width=6),
    Register("port_credits", 0x028, "Credits that the output of port_select has.", (
        RegisterField("channel_0", 15, 0, Access.RO, "Of virtual channel 0."),
        RegisterField("channel_1", 31, 16, Access.RO, "Of virtual channel 1."),
    )),
    Register("port_depth", 0x02C, "Flits that the input of port_select holds.", (
        RegisterField("channel_0", 15, 0, Access.RO, "Of virtual channel 0."),
        RegisterField("channel_1", 31, 16, Access.RO, "Of virtual channel 1."),
    )),
    Register("port_depth_peak", 0x030, "Most flits that the input of port_select has held since reset.", (
        RegisterField("channel_0", 15, 0, Access.RO, "Of virtual channel 0."),
        RegisterField("channel_1", 31, 16, Access.RO, "Of virtual channel 1."),
    )),
    Register("port_link", 0x034, "The end of the link of port_select; one without `link.reliable` is always up.", _link_fields),
    Register("port_source", 0x038, "Whose packets the input of port_select lets in; written for that port. Set where a NIC is connected, so that no node speaks for another.", (
        RegisterField("node_id", 23, 0, Access.RW, "NodeID of the node behind the port."),
        RegisterField("check", 31, 31, Access.RW, "Packets of other sources, and those without one, are discarded and counted in `forged`."),
    )),
    Register("port_give_up", 0x03C, "When the output of port_select gives its link up; written for that port. What is for an output that is given up is discarded and counted in `link_lost`, until there are credits for any packet again.", (
        RegisterField("log2_cycles", 4, 0, Access.RW, "Windows of two to this power of cycles; 0: never. The output is given up at the end of one in which there were never credits for any packet, and fewer than 16 returned."),
        RegisterField("given_up", 31, 30, Access.RO, "The output is given up, a bit for each channel."),
    )),
    number("mft_mask", 0x200, Access.RW, "Register n: ports of MLID 0xC000 + 32 block + n; bit b is port 16 group + b. Reset value of the table: no port.", width=16, count=32),
))
"""Registers of a switch, in its own address space."""

MFT_BLOCK_ENTRIES = SWITCH_PAGE["mft_mask"].count
"""MLIDs of one block of the multicast forwarding table."""
MFT_GROUP_PORTS = SWITCH_PAGE["mft_mask"].width
"""Ports of one mask of it."""

SWITCH_COUNTERS_AT = 0x080
SWITCH_COUNTERS = Counters(SWITCH_COUNTERS_AT, (
    Counter("rx_flits", "Flits that came in."),
    Counter("rx_packets", "Packets that came in."),
    Counter("tx_flits", "Flits sent, each copy on its own."),
    Counter("tx_packets", "Packets sent, likewise."),
    Counter("stalls_0", "Cycles in which the output was idle on channel 0, and a packet waited for credits of it."),
    Counter("stalls_1", "The same for channel 1."),
    Counter("discarded", "Multicasts that came in and were discarded: no port but the one that they came by."),
    Counter("malformed", "Packets that came in and were discarded: they ended before their destination."),
    *LINK_COUNTERS,
    Counter("link_lost", "Packets thrown away because the link was down for too long; of those that had been sent some may have come. Packets for an output that was given up (`port_give_up`)."),
    Counter("forged", "Packets that came in and were discarded: their source is not that of `port_source`. They count in `discarded` too."),
))
"""Counters of the port in port_select, as EVENT_COUNTERS."""
