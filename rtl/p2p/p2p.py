"""The point-to-point path of the NIC."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.abi.encoding import P2pOp
from firmware_models.config import Config
from rtl.interface import (
    CompletionEvent,
    P2pPortSignature,
    PacketSignature,
    ReadSignature,
    ReceiveSlotSignature,
    WindowSignature,
    WriteSignature,
    inline_layout,
)
from rtl.kit.arbiter import PacketArbiter
from rtl.kit.stage import PacketStage, StreamPath, connect_through
from rtl.p2p.answer_check import AnswerCheck
from rtl.p2p.answers import AnswerReceiver
from rtl.p2p.get_landing import GetLanding
from rtl.p2p.get_requester import GetRequester
from rtl.p2p.get_server import GetServer
from rtl.p2p.nonce_source import AnswerKey, NonceSource
from rtl.p2p.p2p_signatures import GetPathSignature, P2pCountsSignature, TimeSignature
from rtl.p2p.receive import P2pReceive
from rtl.p2p.records import fragments_held
from rtl.p2p.tracker import Tracker
from rtl.p2p.transmit import P2pTransmit


class P2p(wiring.Component):
    """SEND (a mini packet into a receive queue), PUT (local memory into remote memory), GET (the other way).

    Every descriptor ends in exactly one completion. Semantics and the argument that it cannot deadlock:
    ``docs/p2p.md``.

    Timing: that of the parts. Packets take a cycle on their way in and one on their way out; answers count at the
    tracker a cycle later.

    Parameters
    ----------
    config : Config
        `datapath`, `nic.n_p2p_tags`, `nic.get`, `nic.read_ahead_beats` and `nic.address_bits`.

    Members
    -------
    port : ``In(P2pPortSignature())``
        Descriptors whose fields, and whose local addresses, have been checked.
    inline_data : ``In(inline_layout(data_width))``
        Their inline data.
    tx : array of 2 ``Out(PacketSignature)``
        Packets to the network; the index is the virtual channel: SEND, PUT and GET on 0, ACK and GET_DATA on 1.
    rx : array of 2 ``In(PacketSignature)``
        Packets from the network, likewise.
    read, write : ``Out(ReadSignature)``, ``Out(WriteSignature)``
        Host memory: operands of PUT; data of SEND and PUT of others.
    get : ``Out(GetPathSignature(data_width))``
        Host memory for GET.
    window, receive_slot : ``Out(WindowSignature)``, ``Out(ReceiveSlotSignature)``
        Checks of received packets.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Completions; room for each was reserved before its descriptor came.
    counts : ``Out(P2pCountsSignature())``
        Events.
    busy : ``Out(1)``
        Some operation is in progress.
    node_id : ``In(24)``, time : ``In(TimeSignature())``, answer_key : ``In(AnswerKey)``
        NodeID of this node, and time; the key of nonces.
    """

    def __init__(self, config: Config):
        self.config = config
        width = config.datapath.data_width
        super().__init__({
            "port": In(P2pPortSignature()),
            "inline_data": In(inline_layout(width)),
            "tx": Out(PacketSignature(width)).array(2),
            "rx": In(PacketSignature(width)).array(2),
            "read": Out(ReadSignature(width)),
            "write": Out(WriteSignature(width)),
            "get": Out(GetPathSignature(width)),
            "window": Out(WindowSignature()),
            "receive_slot": Out(ReceiveSlotSignature()),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "counts": Out(P2pCountsSignature()),
            "busy": Out(1),
            "node_id": In(formats.NODE_BITS),
            "time": In(TimeSignature()),
            "answer_key": In(AnswerKey),
        })

    def elaborate(self, platform):
        m = Module()
        width, n, mtu = self.config.datapath.data_width, self.config.nic.n_p2p_tags, self.config.datapath.mtu
        address_bits = self.config.nic.address_bits
        m.submodules.tracker = tracker = Tracker(n=n)
        n_held = fragments_held(self.config)
        m.submodules.transmit = transmit = P2pTransmit(
            data_width=width, mtu=mtu, n=n, n_held=n_held, address_bits=address_bits
        )
        m.submodules.receive = receive = P2pReceive(data_width=width, address_bits=address_bits)
        m.submodules.answers = answers = AnswerReceiver(data_width=width)
        m.submodules.answer_check = check = AnswerCheck(n=n)
        m.submodules.nonces = nonces = NonceSource()
        senders: list[P2pTransmit | GetRequester] = [transmit]
        repliers: list[P2pReceive | GetServer] = [receive]
        unknown, forged = tracker.unknown + receive.unknown + answers.unknown + check.unknown, check.forged + Const(0)
        connect(m, receive.window, flipped(self.window))
        if self.config.nic.get:
            # A GET has a way of its own, so that a long one holds up nothing else.
            m.submodules.requester = requester = GetRequester(
                data_width=width, mtu=mtu, n=n, address_bits=address_bits
            )
            m.submodules.landing = landing = GetLanding(data_width=width, mtu=mtu, n=n, address_bits=address_bits)
            m.submodules.server = server = GetServer(data_width=width, mtu=mtu, n_held=n_held)
            senders.append(requester)
            repliers.append(server)
            unknown, forged = unknown + landing.unknown, forged + landing.forged
            self._connect_get(m, requester, landing, server)

        # Packets are registered on their way in and out; requests of others pass through the registers of the receiver.
        # Answers to the tracker are registered too, because the tracker keeps the memory waiting.
        m.submodules.incoming = incoming = PacketStage(data_width=width)
        connect(m, flipped(self.rx[1]), incoming.i)
        connect(m, incoming.o, answers.i)
        outgoing = [PacketStage(data_width=width) for _ in range(2)]
        for vc, stage in enumerate(outgoing):
            m.submodules[f"outgoing_{vc}"] = stage
            connect(m, stage.o, flipped(self.tx[vc]))
        connect(m, answers.o, check.i)
        connect_through(m, "answer_stage", StreamPath(check.o, tracker.i_answer))
        connect(m, nonces.o, tracker.i_nonce)
        connect(m, tracker.o_event, flipped(self.o_event))
        connect(m, flipped(self.time), tracker.time)
        m.d.comb += [
            self.busy.eq(tracker.busy), nonces.key.eq(self.answer_key), check.outstanding.eq(transmit.outstanding),
            check.opened.eq(transmit.o_open.valid & transmit.o_open.ready),
        ]
        self._connect_senders(m, senders, outgoing[0])
        self._connect_repliers(m, repliers, outgoing[1])

        # Several sources of one count: pulses that coincide go out one by one. One link brings all packets, so there is
        # at most one a cycle, but for the few that wait in the depacketizers.
        for pulse, sources in ((self.counts.unknown, unknown), (self.counts.forged, forged)):
            waiting = Signal(5)
            m.d.comb += pulse.eq(waiting != 0)
            m.d.sync += waiting.eq(waiting + sources - pulse)
        return m

    def _connect_get(self, m: Module, requester: GetRequester, landing: GetLanding, server: GetServer) -> None:
        """Connects the parts of GET with each other, with the parts of the other path, and with the host."""
        tracker, receive, answers = m.submodules.tracker, m.submodules.receive, m.submodules.answers
        connect(m, server.window, flipped(self.get.read_window))
        connect(m, landing.window, flipped(self.get.write_window))
        connect(m, requester.o_book, landing.i_book)
        connect(m, answers.o_data, landing.i)
        connect(m, landing.o_land, tracker.i_land)
        connect(m, tracker.o_land, landing.i_land)
        connect_through(m, "landed_stage", StreamPath(landing.o_landed, tracker.i_landed))
        connect(m, landing.write, flipped(self.get.write))
        connect(m, receive.o_get, server.i)
        connect(m, server.read, flipped(self.get.read))
        connect(m, tracker.awaited, requester.awaited)
        m.d.comb += [self.port.get_room.eq(requester.room), server.node_id.eq(self.node_id)]

    def _connect_senders(
        self, m: Module, senders: list[P2pTransmit | GetRequester], outgoing: PacketStage,
    ) -> None:
        """Connects the way of this node's requests to others: first SEND and PUT, then GET."""
        transmit, tracker = senders[0], m.submodules.tracker
        m.submodules.arbiter = arbiter = PacketArbiter(
            data_width=self.config.datapath.data_width, n=len(senders), chooses_ahead=True
        )
        offered = self.port.descriptor
        is_get = (offered.payload.desc.p2p_op == P2pOp.GET) if self.config.nic.get else 0
        m.d.comb += [
            offered.ready.eq(Mux(is_get, senders[-1].i.ready, transmit.i.ready)),
            tracker.o_number.ready.eq(Mux(is_get, senders[-1].i_number.ready, transmit.i_number.ready)),
        ]
        for index, sender in enumerate(senders):
            m.d.comb += [
                sender.i.payload.eq(offered.payload),
                sender.i.valid.eq(offered.valid & (is_get == index)),
                sender.i_number.payload.eq(tracker.o_number.payload),
                sender.i_number.valid.eq(tracker.o_number.valid),
                sender.node_id.eq(self.node_id),
                sender.failed.eq(tracker.failed),
            ]
            connect(m, sender.o_open, tracker.i_open[index])
            connect(m, sender.o_progress, tracker.i_progress[index])
            connect(m, sender.o, arbiter.i[index])
        connect(m, arbiter.o, outgoing.i)
        connect(m, transmit.read, flipped(self.read))
        m.d.comb += [self.port.room.eq(transmit.room), transmit.inline_data.eq(self.inline_data)]

    def _connect_repliers(
        self, m: Module, repliers: list[P2pReceive | GetServer], outgoing: PacketStage,
    ) -> None:
        """Connects the way of others' requests to this node, and of its replies."""
        receive = repliers[0]
        connect(m, flipped(self.rx[0]), receive.i)
        m.submodules.replies = replies = PacketArbiter(
            data_width=self.config.datapath.data_width, n=len(repliers), chooses_ahead=True
        )
        for index, replier in enumerate(repliers):
            connect(m, replier.o, replies.i[index])
        connect(m, replies.o, outgoing.i)
        connect(m, receive.receive_slot, flipped(self.receive_slot))
        write, outside = receive.write, flipped(self.write)
        connect_through(m, "write_request", StreamPath(write.request, outside.request))
        connect_through(m, "write_data", StreamPath(write.data, outside.data, full_rate=True))
        connect(m, outside.done, write.done)
        m.d.comb += [
            self.counts.delivered.eq(receive.delivered), receive.node_id.eq(self.node_id),
            receive.cycles.eq(self.time.cycles),
        ]
