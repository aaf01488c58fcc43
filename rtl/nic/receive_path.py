"""The way of packets from the link to the units, on one virtual channel."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.interface import PacketSignature, PlacementSignature, beat
from rtl.link.depacketizer import Depacketizer
from rtl.nic.group_filter import GroupFilter, GroupsSignature
from rtl.nic.job_locator import JobLocator
from rtl.nic.receive_router import ReceiveRouter

ReceiveCounts = data.StructLayout(dict.fromkeys(
    ("received", "malformed", "misplaced", "wrong_node", "unknown", "uncovered", "not_joined"), 1,
))
"""Events to be counted, one of each kind a cycle: a packet has come whole; others have been dropped, for the reasons
that :class:`Depacketizer`, :class:`GroupFilter` and :class:`ReceiveRouter` give."""


class ReceivePath(wiring.Component):
    """Takes frames apart, finds the unit of each packet, and brings the packet there.

    Multicasts travel on channel 0 alone: only there is a filter for groups.

    Parameters
    ----------
    config : Config
        ``datapath``, ``link`` and ``nic``.
    vc : int
        Virtual channel, 0 or 1.

    Members
    -------
    i : ``In(stream.Signature(beat(data_width)))``
        Flits of frames.
    o : array of n_cous + 1 ``Out(PacketSignature(data_width))``
        Packets, for each offload unit and for the point-to-point path, if there is one.
    placement : ``Out(PlacementSignature())``
        Job table.
    groups : ``In(GroupsSignature())``
        With channel 0: the registers' way to the groups that this node has joined.
    node_id : ``In(24)``
        NodeID of this NIC.
    counts : ``Out(ReceiveCounts)``
        Events to be counted.
    """

    def __init__(self, config: Config, *, vc: int):
        self.config, self.vc = config, vc
        width = config.datapath.data_width
        super().__init__({
            "i": In(stream.Signature(beat(width, marked=config.link.reliable))),
            "o": Out(PacketSignature(width)).array(config.nic.n_cous + config.nic.p2p),
            "placement": Out(PlacementSignature()), "node_id": In(formats.NODE_BITS), "counts": Out(ReceiveCounts),
            **({} if vc else {"groups": In(GroupsSignature())}),
        })

    def elaborate(self, platform):
        m = Module()
        config, counts, width = self.config, self.counts, self.config.datapath.data_width
        m.submodules.depacketizer = depacketizer = Depacketizer(
            data_width=width, mtu=config.datapath.mtu, marked=config.link.reliable,
        )
        m.submodules.locator = locator = JobLocator(data_width=width, n_vps=config.nic.n_vps, vc=self.vc)
        m.submodules.router = router = ReceiveRouter(
            data_width=width, n_cous=config.nic.n_cous, p2p=config.nic.p2p, get=config.nic.get, vc=self.vc
        )
        connect(m, flipped(self.i), depacketizer.i)
        if self.vc:
            connect(m, depacketizer.o, locator.i)
        else:
            m.submodules.group_filter = groups = GroupFilter(data_width=width, n_groups=config.nic.n_groups)
            connect(m, depacketizer.o, groups.i)
            connect(m, groups.o, locator.i)
            connect(m, flipped(self.groups).write, groups.write)
            m.d.comb += [
                groups.node_id.eq(self.node_id), groups.select.eq(self.groups.select),
                self.groups.entry.eq(groups.entry), counts.not_joined.eq(groups.not_joined),
            ]
        connect(m, locator.placement, flipped(self.placement))
        connect(m, locator.o, router.i)
        for source, sink in zip(router.o, self.o, strict=True):
            connect(m, source, flipped(sink))
        m.d.comb += [
            depacketizer.node_id.eq(self.node_id), router.unit.eq(locator.unit), router.known.eq(locator.known),
            router.placed.eq(locator.placed), router.not_covered.eq(locator.uncovered),
            counts.received.eq(depacketizer.received), counts.malformed.eq(depacketizer.malformed),
            counts.wrong_node.eq(depacketizer.wrong_node), counts.misplaced.eq(router.misplaced),
            counts.unknown.eq(router.unknown), counts.uncovered.eq(router.uncovered),
        ]
        return m
