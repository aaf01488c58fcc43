"""Stages that a descriptor and a packet pass on their way, by the names of the streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim.walk.recording import Recording


@dataclass(frozen=True)
class Stage:
    """A transfer, or a burst of them, on the way.

    Members
    -------
    stream : str
        Its path in the NIC; underscores and dots as in the waveform.
    what : str
        What happens there, in a sentence.
    first, count : int
        Number of the transfer within the operation, and how many belong to it.
    node : int
        Whose NIC.
    """

    stream: str
    what: str
    first: int = 0
    count: int = 1
    node: int = 0

    @property
    def shown(self) -> str:
        """The stream's name as pages write it."""
        name = self.stream.replace("__", ".").rstrip(".")
        return name.removesuffix("_") if name.endswith("_") else name


DESCRIPTOR = (
    Stage("s_axil__w", "The process writes `dq_prod` on its page: the doorbell."),
    Stage("csr.vps__doorbell", "The register file decodes the address and passes on VP and index."),
    Stage("descriptor_queue.turn__offer", "Nobody else waits, so the VP has its turn at once."),
    Stage("descriptor_queue.scheduler.fetch", "The scheduler has up to eight descriptors fetched; the ring holds two."),
    Stage("m_axi__ar", "Addresses of the two descriptors at host memory.", count=2),
    Stage("m_axi__r", "The first descriptor comes: 128 bytes, 16 beats. It is checked while it comes.", count=16),
    Stage("m_axi__r", "The second one, right behind.", first=16, count=16),
    Stage("job_table.sequence__query", "Which offload unit serves the job? Asked once the control words are there."),
    Stage("job_table.sequence__answer", "Unit 0, and the number of the job's next pulse."),
    Stage("descriptor_queue.cou__0__probe", "Has unit 0 room for a sequence?"),
    Stage("descriptor_queue.cou__0__answer", "It has, and reserves it."),
    Stage("descriptor_queue.cou__0__descriptor", "CH is handed over when its last beat has come."),
    Stage("descriptor_queue.cou__0__descriptor", "CT is handed over; it commits the sequence.", first=1),
    Stage("cou_0.operations.i", "The operation stands in the table, and is cut into pulses: here into one."),
    Stage("cou_0.trigger.i_start", "The pulse gets a context."),
    Stage("cou_0.trigger.operands__load__request", "Descriptor 0 brings its operand: the loader is asked for it."),
    Stage("cou_0.trigger.credits__ask__request", "Meanwhile: may a packet leave for peer 0?"),
    Stage("cou_0.trigger.fired", "It may; the descriptor fires. It only sends, so the pass goes to the send engine."),
    Stage("cou_0.tx__0__header", "The header leaves the unit, before the operand is on chip."),
    Stage("cou_0.tx__0__payload", "The payload follows from the operand memory, 8 beats.", count=8),
    Stage("tx__", "Flits on the link: four of the header, eight of payload.", count=12),
    Stage("cou_0.trigger.packets__lookup__request", "Descriptor 1 wants the packet with SeqID 0: is it in the buffer?"),
    Stage("cou_0.buffer.packets__lookup__answer", "Not yet. The context sleeps until an arrival bears the key."),
    Stage("cou_0.trigger.fired", "The packet has come (next table): descriptor 1 fires, and combines.", first=1),
    Stage("cou_0.write__request", "The pass writes its result to host memory, through the DMA engine."),
    Stage("m_axi__aw", "The address, when all data of the burst are there."),
    Stage("m_axi__w", "The sums.", count=8),
    Stage("m_axi__b", "Memory has them."),
    Stage("cou_0.o_event", "All writes are acknowledged: the operation posts its event."),
    Stage("completion_queue.write__request", "64 bytes for the next entry of the completion ring."),
    Stage("m_axi__w", "The completion; its last word has the phase bit that the process polls.", first=8, count=8),
)
PACKET = (
    Stage("tx__", "The packet leaves node 0, header first.", count=12),
    Stage("rx__", "It arrives at node 1: two links of four cycles, and the switch.", count=12, node=1),
    Stage("receive_0.depacketizer.i", "From the link's queue of channel 0.", count=12, node=1),
    Stage("receive_0.depacketizer.o__header", "The whole packet is there and well formed: the header is let through.",
          node=1),
    Stage("job_table.packet__query", "Which unit serves the job?", node=1),
    Stage("job_table.packet__answer", "Unit 0.", node=1),
    Stage("cou_0.buffer.i__header", "The router hands the header to the packet buffer, which gives it a slot.", node=1),
    Stage("cou_0.buffer.packets__arrival", "COMING: a context that waits for such a key wakes up and plans.", node=1),
    Stage("cou_0.buffer.i__payload", "The payload goes into the slot.", count=8, node=1),
    Stage("cou_0.buffer.packets__arrival", "THERE: the tag stands in the table, the packet is sure.", first=1, node=1),
    Stage("cou_0.trigger.fired", "The descriptor fires.", first=1, node=1),
    Stage("cou_0.aggregator.packets__read", "The lane asks for the payload, and lets the credit return.", node=1),
    Stage("cou_0.buffer.o_read", "Payload, one beat a cycle.", count=8, node=1),
    Stage("cou_0.aggregator.reduce.i", "Operand and payload enter the reduce unit.", count=8, node=1),
    Stage("cou_0.aggregator.reduce.o", "The sums leave it, five adder stages and a queue later.", count=8, node=1),
    Stage("m_axi__w", "The sums go to host memory.", count=8, node=1),
    Stage("cou_0.tx__1__header", "Beside that, since the pass began: a CREDIT packet for node 0.", node=1),
    Stage("rx__", "It arrives at node 0, on channel 1.", first=12, count=4),
    Stage("cou_0.credit_table.i_return", "Node 0 counts the credit: it may send again."),
)


def times(recording: Recording, stages: Sequence[Stage], cycles: Sequence[int]) -> list[dict[str, Any]]:
    """Each stage with the cycles of its first and last transfer, counted from the first of `cycles`.

    Raises
    ------
    LookupError
        If a stream has fewer transfers than the stages say.
    """
    rows = []
    for stage in stages:
        done = recording.transfers(f"nic{stage.node}", stage.stream, cycles).done[stage.first:][:stage.count]
        if len(done) < stage.count:
            raise LookupError(f"{stage.shown} of node {stage.node} passed {len(done)} items, not {stage.count}")
        rows.append({
            "stream": stage.shown, "node": stage.node, "first": done[0] - cycles[0], "last": done[-1] - cycles[0],
            "what": stage.what,
        })
    return rows
