"""The sending half of the point-to-point path."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from rtl.abi import DescriptorControl
from rtl.interface import ADDRESS_BITS, PacketSignature, ReadSignature, inline_layout
from rtl.p2p.fragmenter import Fragmenter
from rtl.p2p.records import OperationNumber, Outstanding, TrackerCommand
from rtl.p2p.sender import FragmentSender


class P2pTransmit(wiring.Component):
    """Descriptors in, packets out: :class:`Fragmenter`, then :class:`FragmentSender`.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu : int
        Largest fragment in bytes.
    n : int
        Entries of the tracker.
    n_held : int
        Fragments held at once.
    address_bits : int
        Bits of a local address, 32 to 64.

    Members
    -------
    i, inline_data, room, i_number, o_open, outstanding, read, node_id
        Those of :class:`Fragmenter`.
    o_progress, o
        Those of :class:`FragmentSender`.
    failed : ``In(n)``
        Operations, by entry, of which no more needs to be sent.
    """

    def __init__(
        self, *, data_width: int, mtu: int, n: int, n_held: int, address_bits: int = ADDRESS_BITS
    ):
        self.data_width = data_width
        self.mtu = mtu
        self.n = n
        self.n_held = n_held
        self.address_bits = address_bits
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"desc": DescriptorControl}))),
            "inline_data": In(inline_layout(data_width)),
            "room": Out(1),
            "i_number": In(stream.Signature(OperationNumber)),
            "o_open": Out(stream.Signature(TrackerCommand)),
            "outstanding": Out(Outstanding),
            "o_progress": Out(stream.Signature(TrackerCommand)),
            "failed": In(n),
            "read": Out(ReadSignature(data_width)),
            "o": Out(PacketSignature(data_width)),
            "node_id": In(formats.NODE_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fragmenter = fragmenter = Fragmenter(
            data_width=self.data_width, mtu=self.mtu, n=self.n, n_held=self.n_held,
            address_bits=self.address_bits,
        )
        m.submodules.sender = sender = FragmentSender(data_width=self.data_width, n=self.n)

        connect(m, flipped(self.i), fragmenter.i)
        connect(m, flipped(self.i_number), fragmenter.i_number)
        connect(m, fragmenter.o_open, flipped(self.o_open))
        connect(m, fragmenter.read, flipped(self.read))
        connect(m, fragmenter.o_fragment, sender.i_fragment)
        connect(m, fragmenter.o_read, sender.i_read)
        connect(m, fragmenter.o_data, sender.i_data)
        connect(m, sender.o_progress, flipped(self.o_progress))
        connect(m, sender.o, flipped(self.o))
        m.d.comb += [
            self.room.eq(fragmenter.room), self.outstanding.eq(fragmenter.outstanding),
            fragmenter.inline_data.eq(self.inline_data),
            fragmenter.node_id.eq(self.node_id),
            fragmenter.failed.eq(self.failed),
            fragmenter.returned.eq(sender.returned),
            sender.failed.eq(self.failed),
        ]


        return m
