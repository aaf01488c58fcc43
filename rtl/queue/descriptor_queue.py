"""From descriptor rings to units of work: fetch, check, schedule."""

from collections.abc import Collection

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from firmware_models.abi.encoding import Datatype, Operator
from rtl.interface import (
    ADDRESS_BITS,
    CompletionEvent,
    P2pPortSignature,
    PlacementSignature,
    ReadSignature,
    SequenceSignature,
    WindowSignature,
    inline_layout,
)
from rtl.queue.descriptor_check import DescriptorCheck
from rtl.queue.descriptor_fetch import DescriptorFetch
from rtl.queue.records import FETCH_BATCH
from rtl.queue.scheduler import Scheduler
from rtl.queue.turn_signature import TurnSignature


class DescriptorQueue(wiring.Component):
    """Fetches the descriptors of the VP whose turn it is, checks them and hands on whole units.

    What is taken when, and what is refused how: see :class:`rtl.queue.scheduler.Scheduler` and
    :class:`rtl.queue.descriptor_check.DescriptorCheck`.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    mtu, n_peers, n_blocks, intermediate_bytes : int
        Bounds of `pulse_bytes`, `peer` and `block_count`.
    n_cous, sequence_depth : int
        Offload units, and the longest sequence that they take.
    supported : collection of (Datatype, Operator)
        Reductions that this build has.
    batch : int
        Most descriptors to fetch at once.
    p2p, get : bool
        If true, this build has a point-to-point path; it can GET.
    address_bits : int
        Bits of a host address, 32 to 64.

    Members
    -------
    turn : ``In(TurnSignature(address_bits))``
        VP table.
    window : ``Out(WindowSignature())``
        VP table.
    read : ``Out(ReadSignature(data_width))``
        DMA engine.
    placement : ``Out(PlacementSignature())``
        Job table.
    cou : array of n_cous ``Out(SequenceSignature())``
        Offload units.
    p2p : ``Out(P2pPortSignature())``
        Point-to-point path.
    inline_data : ``Out(inline_layout(data_width))``
        Inline data of what was handed over last.
    o_event : ``Out(stream.Signature(CompletionEvent))``
        Units that were refused.
    consumed : ``Out(1)``
        Pulses for every descriptor taken from a ring.
    """

    def __init__(
        self, *, data_width: int, mtu: int, n_peers: int, n_blocks: int, intermediate_bytes: int, n_cous: int,
        sequence_depth: int, supported: Collection[tuple[Datatype, Operator]], batch: int = FETCH_BATCH,
        p2p: bool = True, get: bool = True, address_bits: int = ADDRESS_BITS,
    ):
        self.data_width = data_width
        self.n_cous = n_cous
        self._fetch = DescriptorFetch(data_width=data_width, address_bits=address_bits)
        self._check = DescriptorCheck(
            mtu=mtu, n_peers=n_peers, n_blocks=n_blocks, intermediate_bytes=intermediate_bytes, supported=supported,
            p2p=p2p, get=get,
        )
        self._scheduler = Scheduler(
            n_cous=n_cous, sequence_depth=sequence_depth, batch=batch, address_bits=address_bits
        )
        super().__init__({
            "turn": In(TurnSignature(address_bits)),
            "window": Out(WindowSignature()),
            "read": Out(ReadSignature(data_width)),
            "placement": Out(PlacementSignature()),
            "cou": Out(SequenceSignature()).array(n_cous),
            "p2p": Out(P2pPortSignature()),
            "inline_data": Out(inline_layout(data_width)),
            "o_event": Out(stream.Signature(CompletionEvent)),
            "consumed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetch = fetch = self._fetch
        m.submodules.check = check = self._check
        m.submodules.scheduler = scheduler = self._scheduler
        connect(m, scheduler.fetch, fetch.i)
        connect(m, flipped(self.window), check.window)
        connect(m, flipped(self.read), fetch.read)
        for name in ("turn", "p2p", "o_event", "placement"):
            connect(m, flipped(getattr(self, name)), getattr(scheduler, name))
        for k in range(self.n_cous):
            connect(m, flipped(self.cou[k]), scheduler.cou[k])
        # Fetch, check and scheduler look at one descriptor at a time; it goes when all three have finished.
        m.d.comb += [
            check.desc.eq(fetch.o.payload.desc), check.vp.eq(scheduler.vp),
            check.numbers.eq(fetch.numbers), check.fields.eq(fetch.fields), fetch.enable.eq(scheduler.at_hand),
            check.verdict_taken.eq(scheduler.i.ready),
            scheduler.judged.eq(check.judged), scheduler.status.eq(check.status),
            scheduler.i.payload.eq(fetch.o.payload), scheduler.i.valid.eq(fetch.o.valid),
            scheduler.words_read.eq(fetch.words_read),
            # It is released only while it is valid and judged.
            fetch.o.ready.eq(scheduler.i.ready),
        ]
        m.d.comb += [self.consumed.eq(scheduler.consumed), self.inline_data.eq(fetch.inline_data)]
        return m
