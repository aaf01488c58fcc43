"""One end of a reliable link, between a NIC or a switch and the wire."""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.config import Config
from rtl.interface import LinkSignature, LinkState
from rtl.link.frame_crc import CrcCheck, CrcInsert
from rtl.link.frame_receiver import FrameReceiver
from rtl.link.frame_sender import FrameSender
from rtl.link.link_training import LinkTraining
from rtl.link.wire import WireSignature

SILENCE_CYCLES = 4096
"""Cycles without a good control word after which a link of a NIC or switch is down."""

LINK_EVENTS = ("falls", "damaged", "stomped", "repeated", "replays", "timeouts")
"""Pulses that NIC and switch count, as ``link_falls`` and so on."""

LinkStatus = data.StructLayout({
    **LinkState.members,
    "falls": 1, "damaged": 1, "stomped": 1, "repeated": 1, "replays": 1, "timeouts": 1, "lost": 2,
})
"""The link is up; it is refused until both ends are reset; it has been down for too long. And pulses: it went down; a
control word was not good; a packet that had been handed on in part was marked; a run that had come before was passed
over; the other end asked for a replay; packets are sent again for want of an acknowledgement; a packet was thrown away
that had been kept, and one that came (a bit each)."""


def state_of(status: Any) -> Value:
    """Returns the lasting members of a status, as a :data:`~rtl.interface.LinkState`."""
    return Cat(status[name] for name in LinkState.members)


def link_layer(config: Config, *, marked: bool) -> "LinkLayer":
    """The layer of a NIC's or, with `marked` flits, a switch's link."""
    return LinkLayer(
        data_width=config.datapath.data_width, buffer_flits=config.link.buffer_flits,
        replay_flits=config.link.replay_flits, replay_cycles=config.link.replay_cycles, silence_cycles=SILENCE_CYCLES,
        dead_cycles=config.link.dead_cycles, marked=marked,
    )


def connect_unmarked(m: Module, sender: Any, receiver: Any) -> None:
    """Connects a link whose flits have no mark to one whose flits have."""
    m.d.comb += [
        receiver.valid.eq(sender.valid), sender.ready.eq(receiver.ready),
        *(receiver.flit[name].eq(sender.flit[name]) for name in ("data", "last", "vc")),
        sender.credit_valid.eq(receiver.credit_valid), sender.credit_vc.eq(receiver.credit_vc),
    ]


class LinkLayer(wiring.Component):
    """Carries flits and credits over a wire that loses, changes and doubles words: each once, in order.

    Towards NIC or switch it looks like the other end of a link without a layer: `buffer_flits` credits of each channel.
    Packets can come more than once there; all but one end with the mark `bad` and are to be dropped. See
    ``docs/link.md``.

    Timing: six cycles from ``i`` of one end to ``o`` of the other, a flit in each; a control word for each packet.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    buffer_flits : int
        Flits of each channel that whoever stands behind the other end has room for; those of the longest packet at
        least.
    replay_flits : int
        Flits of each channel that are kept until they are acknowledged; a power of two, at least `buffer_flits`. A
        packet and the round trip keep the link busy.
    replay_cycles : int
        Cycles without an acknowledgement after which packets are sent again.
    silence_cycles : int
        Cycles without a good control word after which the link is down.
    dead_cycles : int
        Cycles in which it is down after which what is to be sent is thrown away; longer than a word is on the wire.
    marked : bool
        If true, flits come with a mark `bad` of their own, as from a switch.

    Members
    -------
    i : ``In(LinkSignature(data_width, marked=True))``
        Flits to be sent, credits of the other end's room. `ready` is always high.
    o : ``Out(LinkSignature(data_width, marked=True))``
        Flits that came. `ready` must be high.
    tx, rx : ``Out(WireSignature(data_width))``, ``In(WireSignature(data_width))``
        The wire.
    status : ``Out(LinkStatus)``
        The link is up; it is refused; it is dead; the events of the cycle before.
    """

    def __init__(
        self, *, data_width: int, buffer_flits: int, replay_flits: int, replay_cycles: int, silence_cycles: int,
        dead_cycles: int, marked: bool = True,
    ):
        sizes = {"data_width": data_width, "buffer_flits": buffer_flits, "replay_flits": replay_flits}
        self.data_width = data_width
        self.sender = FrameSender(**sizes, replay_cycles=replay_cycles, marked=marked)
        self.receiver = FrameReceiver(**sizes)
        self.training = LinkTraining(**sizes, silence_cycles=silence_cycles, dead_cycles=dead_cycles)
        super().__init__({
            "i": In(LinkSignature(data_width, marked=True)), "o": Out(LinkSignature(data_width, marked=True)),
            "tx": Out(WireSignature(data_width)), "rx": In(WireSignature(data_width)), "status": Out(LinkStatus),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender, m.submodules.receiver, m.submodules.training = sender, receiver, training = (
            self.sender, self.receiver, self.training
        )
        m.submodules.insert = insert = CrcInsert(data_width=self.data_width)
        m.submodules.check = check = CrcCheck(data_width=self.data_width)
        connect(m, insert.o, flipped(self.tx))
        connect(m, flipped(self.rx), check.i)
        m.d.comb += [
            sender.i.valid.eq(self.i.valid), sender.i.flit.eq(self.i.flit), self.i.ready.eq(1),
            self.i.credit_valid.eq(sender.i.credit_valid), self.i.credit_vc.eq(sender.i.credit_vc),
            insert.i.eq(sender.o),
            receiver.i.eq(check.o), receiver.good.eq(check.good),
            self.o.valid.eq(receiver.valid), self.o.flit.eq(receiver.flit),
            receiver.credit_valid.eq(self.o.credit_valid), receiver.credit_vc.eq(self.o.credit_vc),
        ]
        connect(m, receiver.report, sender.report)

        # Control frames take effect one cycle later: the registers keep the CRC check off the critical path.
        fields, good = Signal.like(check.o.fields), Signal()
        m.d.sync += [fields.eq(check.o.fields), good.eq(check.good)]
        m.d.comb += [
            training.good.eq(good), training.fields.eq(fields),
            sender.notice.valid.eq(good & (fields.kind[1] == 0)),
            *(sender.notice.payload[name].eq(fields[name]) for name in ("about", "is_credit", "replay", "value")),
            sender.link.up.eq(training.up), sender.training.eq(training.training),
            training.retrain.eq(sender.gives_up), training.wrong.eq(sender.wrong),
            training.empties.eq(sender.link.empties), sender.link.dead.eq(training.dead),
            receiver.cut.eq(training.falls),
        ]

        m.d.comb += [self.status[name].eq(getattr(training, name)) for name in ("up", "refused", "dead")]
        m.d.sync += [
            self.status.falls.eq(training.falls),
            *(self.status[name].eq(getattr(receiver, name)) for name in ("damaged", "stomped", "repeated")),
            *(self.status[name].eq(getattr(sender, name)) for name in ("replays", "timeouts", "lost")),
        ]
        return m
