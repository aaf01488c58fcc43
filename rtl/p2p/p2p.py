"""The point-to-point path of the NIC."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import Descriptor
from rtl.interface import (
    CompletionEvent,
    PacketSignature,
    ReadSignature,
    ReceiveSlotSignature,
    WindowSignature,
    WriteSignature,
)
from rtl.p2p.answers import AnswerReceiver
from rtl.p2p.receive import P2pReceive
from rtl.p2p.tracker import Tracker
from rtl.p2p.transmit import P2pTransmit


class P2p(wiring.Component):
    """SEND (a mini packet into a receive queue) and PUT (local memory into remote memory), and their answers.

    Every descriptor ends in exactly one completion. Semantics and the argument that it cannot deadlock:
    ``docs/p2p.md``.

    Parameters
    ----------
    config : Config
        `datapath` and `nic.n_p2p_tags`.

    Members
    -------
    i_desc : ``In(stream.Signature({desc}))``
        Descriptors whose fields, and whose local addresses, have been checked.
    room : ``Out(1)``
        A descriptor offered now is taken at once. Stays up until one is.
    tx : array of 2 ``Out(PacketSignature)``
        Packets to the network; the index is the virtual channel: SEND and PUT on 0, ACK on 1.
    rx : array of 2 ``In(PacketSignature)``
        Packets from the network, likewise.
    read, write : ``Out(ReadSignature)``, ``Out(WriteSignature)``
        Host memory.
    window, receive_slot : ``Out(WindowSignature)``, ``Out(ReceiveSlotSignature)``
        Checks of what was received.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions; room for each was reserved before its descriptor came.
    delivered : ``Out(1)``
        Pulse: a receive entry has been written.
    unknown : ``Out(1)``
        Pulse: a packet was dropped that is no SEND, PUT or ACK, or answers nothing that is in progress.
    busy : ``Out(1)``
        Some operation is in progress.
    node_id, cycles, watchdog
        NodeID of this node, time, and the cycles without progress after which an operation ends; 0 is never.
    """

    def __init__(self, config: Config):
        self.config = config
        width = config.datapath.data_width
        super().__init__({
            "i_desc": In(stream.Signature(data.StructLayout({"desc": Descriptor}))),
            "room": Out(1),
            "tx": Out(PacketSignature(width)).array(2),
            "rx": In(PacketSignature(width)).array(2),
            "read": Out(ReadSignature(width)),
            "write": Out(WriteSignature(width)),
            "window": Out(WindowSignature()),
            "receive_slot": Out(ReceiveSlotSignature()),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "delivered": Out(1),
            "unknown": Out(1),
            "busy": Out(1),
            "node_id": In(formats.NODE_BITS),
            "cycles": In(63),
            "watchdog": In(32),
        })

    def elaborate(self, platform):
        m = Module()
        width, n = self.config.datapath.data_width, self.config.nic.n_p2p_tags
        m.submodules.tracker = tracker = Tracker(n=n)
        m.submodules.transmit = transmit = P2pTransmit(data_width=width, mtu=self.config.datapath.mtu, n=n)
        m.submodules.receive = receive = P2pReceive(data_width=width)
        m.submodules.answers = answers = AnswerReceiver(data_width=width)

        # What this node asks of others.
        connect(m, flipped(self.i_desc), transmit.i)
        connect(m, tracker.o_number, transmit.i_number)
        connect(m, transmit.o_open, tracker.i_open)
        connect(m, transmit.o_progress, tracker.i_progress)
        connect(m, transmit.read, flipped(self.read))
        connect(m, transmit.o, flipped(self.tx[0]))
        connect(m, flipped(self.rx[1]), answers.i)
        connect(m, answers.o, tracker.i_answer)
        connect(m, tracker.o_event, flipped(self.o_event))
        m.d.comb += [
            self.room.eq(transmit.room),
            self.busy.eq(tracker.busy),
            transmit.node_id.eq(self.node_id),
            transmit.failed.eq(tracker.failed),
            tracker.cycles.eq(self.cycles),
            tracker.watchdog.eq(self.watchdog),
        ]

        # What others ask of this node.
        connect(m, flipped(self.rx[0]), receive.i)
        connect(m, receive.o, flipped(self.tx[1]))
        connect(m, receive.window, flipped(self.window))
        connect(m, receive.receive_slot, flipped(self.receive_slot))
        connect(m, receive.write, flipped(self.write))
        m.d.comb += [
            self.delivered.eq(receive.delivered),
            receive.node_id.eq(self.node_id),
            receive.cycles.eq(self.cycles),
        ]

        # Three sources of one count: pulses that coincide go out one by one. One link brings all packets, so there is
        # at most one a cycle, but for the few that wait in the depacketizers.
        waiting = Signal(5)
        m.d.comb += self.unknown.eq(waiting != 0)
        m.d.sync += waiting.eq(waiting + tracker.unknown + receive.unknown + answers.unknown - self.unknown)

        return m
