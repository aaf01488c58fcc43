"""Signatures of the streams between blocks: the contracts that let each block be built and tested alone."""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from firmware_models.abi import formats
from firmware_models.abi.encoding import JobOrderKind, Status
from firmware_models.abi.registers import CONTROL_PAGE
from rtl.abi import DescriptorControl, PacketHeader, register_layout

ADDRESS_BITS = 64
"""Bits of an address wherever it goes from block to block. A build may have fewer (`nic.address_bits`): the upper ones
are 0 then, but for addresses that no window check has seen yet, and those of other nodes."""


STATUS_BITS = max(Status).bit_length()
"""Of the statuses that there are; completions and packets have room for more."""
LONG_HEADER = 4
"""Flits of a header from which on few headers need a place where they wait: the next one comes late enough."""


def header_flits(data_width: int) -> int:
    """Flits that a packet header fills; one wider than the header is padded with zeros.

    Raises
    ------
    ValueError
        If `data_width` is no width of the data path.
    """
    if data_width not in (64, 128, 256, 512):
        raise ValueError(f"data_width must be 64, 128, 256 or 512, not {data_width!r}")
    return max(1, formats.PACKET_HEADER.width // data_width)


def check_address_bits(address_bits: int) -> int:
    """`address_bits`, the bits of a host address that a build has.

    Raises
    ------
    ValueError
        If it is not from 32 to 64.
    """
    if not 32 <= address_bits <= ADDRESS_BITS:
        raise ValueError(f"address_bits must be 32 to {ADDRESS_BITS}, not {address_bits!r}")
    return address_bits


def beat(data_width: int, *, marked: bool = False) -> data.StructLayout:
    """One beat of a payload: `data`, and `last` on the last beat of its packet or transfer; if `marked`, also `bad`."""
    return data.StructLayout({"data": data_width, "last": 1, **({"bad": 1} if marked else {})})


def flit(data_width: int, *, marked: bool = False) -> data.StructLayout:
    """One beat on a link: a beat with its virtual channel. A packet keeps to one channel.

    Behind a reliable link flits are `marked`: the last one of a packet says whether it is `bad`, to be dropped.
    """
    return data.StructLayout({"data": data_width, "last": 1, "vc": 1, **({"bad": 1} if marked else {})})


class PacketSignature(wiring.Signature):
    """A packet inside of the NIC: one ``header`` transfer, then its ``payload``.

    The payload has ``ceil(length / flit_bytes)`` beats, the last one marked; none if ``length`` is 0.
    The producer offers the payload only after the header has been transferred, and the next header
    only after the last beat.
    """

    def __init__(self, data_width: int):
        self.data_width = data_width
        super().__init__({
            "header": Out(stream.Signature(PacketHeader)),
            "payload": Out(stream.Signature(beat(data_width))),
        })


LinkState = register_layout(CONTROL_PAGE["link_state"])
"""The link is up; it is refused until both ends are reset; it has been down for `link.dead_cycles`."""

PLAIN_LINK = LinkState.const({"up": 1, "refused": 0, "dead": 0})
"""The state of a link without a layer."""


class LinkSignature(wiring.Signature):
    """One direction of a link, seen from its sender: flits forward, credits back.

    A credit is room for one flit of virtual channel `vc` at the receiver. The sender starts with the
    receiver's buffer depth for each channel and spends one a flit; a flit moves when both ``valid`` and
    ``ready`` are high (the receiver's end of a link without a MAC in between keeps ``ready`` high).
    All members are driven by registers on both sides, so that parts can be simulated apart.
    """

    def __init__(self, data_width: int, *, marked: bool = False):
        self.data_width = data_width
        super().__init__({
            "valid": Out(1),
            "ready": In(1),
            "flit": Out(flit(data_width, marked=marked)),
            "credit_valid": In(1),
            "credit_vc": In(1),
        })


class ReadSignature(wiring.Signature):
    """A client's read port on the DMA engine.

    ``request`` asks for `bytes` (at least 1) at `addr`. ``data`` brings the flits of memory that hold them, in order,
    the last one marked: ``ceil((addr % flit_bytes + bytes) / flit_bytes)`` beats. `error` on the last beat says that
    the memory answered some beat with an error.
    """

    def __init__(self, data_width: int):
        self.data_width = data_width
        super().__init__({
            "request": Out(stream.Signature(data.StructLayout({"addr": ADDRESS_BITS, "bytes": 32}))),
            "data": In(stream.Signature(data.StructLayout({"data": data_width, "last": 1, "error": 1}))),
        })


class WriteSignature(wiring.Signature):
    """A client's write port on the DMA engine.

    ``request`` announces `bytes` (at least 1) at `addr`; ``data`` follows with the flits of memory that hold them,
    ``ceil((addr % flit_bytes + bytes) / flit_bytes)`` beats; bytes before the first and beyond the last are not
    written. ``done`` answers every request, in order, once the memory has acknowledged all of it: `error` if it
    refused some beat.
    """

    def __init__(self, data_width: int):
        self.data_width = data_width
        super().__init__({
            "request": Out(stream.Signature(data.StructLayout({"addr": ADDRESS_BITS, "bytes": 32}))),
            "data": Out(stream.Signature(beat(data_width))),
            "done": In(stream.Signature(data.StructLayout({"error": 1}))),
        })


CompletionEvent = data.StructLayout({
    "vp": formats.VP_BITS,
    "status": 8,
    "kind": 4,
    "job_id": formats.JOB_BITS,
    "bytes": 32,
    "tag": 32,
    "detail": 64,
})
"""A completion to be written; room for it was reserved when the descriptor was taken."""

WindowQuery = data.StructLayout({"vp": formats.VP_BITS, "addr": ADDRESS_BITS, "bytes": 32, "right": 2})
"""`right` is a ``firmware_models.abi.encoding.Right``."""


class WindowSignature(wiring.Signature):
    """A client's port on the memory-window check of the VP table.

    Every ``query`` gets one ``answer``, in order: `ok` if the VP is enabled, `addr` is a multiple of the
    flit and [addr, addr + bytes) lies in one of its windows that has the `right`.
    """

    def __init__(self):
        super().__init__({
            "query": Out(stream.Signature(WindowQuery)),
            "answer": In(stream.Signature(data.StructLayout({"ok": 1}))),
        })


UNIT_BITS = 4
"""Bits of the number of an offload unit."""
KEPT_BITS = 25
"""Of what keeps a job at its unit, for software: packets and shared credits."""


class JobReportKind(enum.Enum, shape=3):
    """Kinds of reports from an offload unit to the job table."""

    PACKET_LEFT = 0
    """A packet of the job has left the unit's buffer: it was consumed; or the shared credit that it travelled on is
    over. The packet for which a shared credit is granted is not reported."""
    ENDED = 1
    """The operation that the job table let in has ended after `pulses` pulses (none if it never began). `owing`:
    credits of the job are outstanding."""
    SETTLED = 2
    """The last of these credits has returned, and no operation of the job is in progress."""
    RETURNED = 3
    """A shared credit has returned without a packet; the job table knows whether one was out."""
    DUPLICATE = 4
    """A packet of the job was dropped as a duplicate: no CREDIT packet answers it."""
    SHARED_DUPLICATE = 5
    """The same of a packet on a shared credit."""


class JobShapes:
    """Payloads of the ports of the job table. A proof makes its numbers small.

    Parameters
    ----------
    job_bits, pulse_bits, unit_bits : int
        Bits of a JobID, of the number of a pulse, and of that of an offload unit.
    """

    def __init__(
        self, *, job_bits: int = formats.JOB_BITS, pulse_bits: int = formats.PULSE_BITS, unit_bits: int = UNIT_BITS,
    ):
        self.job_bits, self.pulse_bits, self.unit_bits = job_bits, pulse_bits, unit_bits
        job = {"job_id": job_bits}
        self.query = data.StructLayout({**job, "shared": 1})
        self.answer = data.StructLayout({"ok": 1, "closed": 1, "unit": unit_bits, "base_pulse": pulse_bits})
        """See :class:`PlacementSignature`."""
        self.order = data.StructLayout({"kind": JobOrderKind, **job})
        """An order of software to the job table."""
        self.standing = data.StructLayout({
            "closed": 1, "refused": 1, "changed": 1, "busy": 1, "owing": 1, "kept": KEPT_BITS, **job,
            "written_off": 1, "unit": unit_bits, "lost": KEPT_BITS,
        })
        """The answer: how the job stands after it, and whether `closed` is `changed`. `kept`: packets, and shared
        credits that peers hold; with `busy` and `owing` 0 too, nothing of it is left here. `written_off`: for its
        `unit`, and how many shared credits are `lost`."""
        self.given = data.StructLayout({**job, "shared": 1, "granted": 1})
        """A CREDIT packet leaves this NIC: the packet that it answers travelled on a shared credit; it brings one."""
        self.report = data.StructLayout({"kind": JobReportKind, **job, "owing": 1, "pulses": pulse_bits})
        """From an offload unit to the job table: one reason for a job to stay at the unit has ended."""


JOBS = JobShapes()
"""The shapes that every build has; some of them have names of their own."""
JobOrder, JobStanding, CreditGiven, JobReport = JOBS.order, JOBS.standing, JOBS.given, JOBS.report

JobWriteOff = data.StructLayout({"job_id": formats.JOB_BITS, "lost": KEPT_BITS})
"""To the offload unit of a closed job: no credit that it has out returns any more, nor do `lost` shared ones."""

JobClosing = data.StructLayout({"job_id": formats.JOB_BITS, "closed": 1})
"""To the offload units: a job is closed, or open again."""


class PlacementSignature(wiring.Signature):
    """A client's port on the job table: which offload unit serves a job?

    Every ``query`` gets one ``answer``, in order. The meaning of `ok`, and the obligations that it brings, depend on
    the client: see :class:`rtl.nic.job_table.JobTable`. `shared`: a packet on a shared credit. `base_pulse` is the
    number of the job's next pulse; `closed`: software has closed the job.
    """

    def __init__(self, shapes: JobShapes = JOBS):
        super().__init__({
            "query": Out(stream.Signature(shapes.query)), "answer": In(stream.Signature(shapes.answer)),
        })


def inline_words(data_width: int) -> int:
    """Words of inline data behind a descriptor."""
    return 8 * formats.PAYLOAD_BYTES // data_width


def inline_layout(data_width: int) -> data.StructLayout:
    """Inline data: the payload of the descriptor that was handed over last, word by word, to all who get descriptors.

    The first `valid` word comes two cycles after the descriptor was handed over, the others follow without a gap, with
    their `index`. Nobody asks for them and nobody holds them up: who took the descriptor takes them. The next
    descriptor is handed over when they are through.
    """
    return data.StructLayout({"valid": 1, "index": (inline_words(data_width) - 1).bit_length(), "data": data_width})


class SequenceSignature(wiring.Signature):
    """The scheduler's port on a collective offload unit.

    ``probe`` asks for an entry for a sequence of `job_id`, whose first pulse has the number `base_pulse`. ``answer``
    grants it (`ok`) or refuses. Then ``descriptor`` brings the sequence, checked and in order; the one with `last`
    (CT) commits it. `abort` (with `last`), which may come first of all, releases the entry instead: nothing of the
    sequence is executed, no completion comes. Inline data follow each descriptor by themselves (:func:`inline_layout`).
    """

    def __init__(self):
        super().__init__({
            "probe": Out(stream.Signature(data.StructLayout({
                "job_id": formats.JOB_BITS, "base_pulse": formats.PULSE_BITS,
            }))),
            "answer": In(stream.Signature(data.StructLayout({"ok": 1}))),
            "descriptor": Out(stream.Signature(data.StructLayout({"desc": DescriptorControl, "last": 1, "abort": 1}))),
        })


class P2pPortSignature(wiring.Signature):
    """The scheduler's port on the point-to-point path.

    Members
    -------
    descriptor : ``Out(stream.Signature({desc}))``
        Descriptors, checked. Inline data follow each by themselves (:func:`inline_layout`).
    room, get_room : ``In(1)``
        A SEND or PUT, or a GET, that is offered now is taken at once. Stay high until a descriptor has been taken.
    """

    def __init__(self):
        super().__init__({
            "descriptor": Out(stream.Signature(data.StructLayout({"desc": DescriptorControl}))),
            "room": In(1), "get_room": In(1),
        })


class ReceiveSlotSignature(wiring.Signature):
    """A client's port on the receive queues of the VP table.

    Every ``query`` gets one ``answer``: `ok` if the VP is enabled and its ring has room; then the entry at `addr`
    has been taken and is to be written with `phase`.
    """

    def __init__(self):
        super().__init__({
            "query": Out(stream.Signature(data.StructLayout({"vp": formats.VP_BITS}))),
            "answer": In(stream.Signature(data.StructLayout({"ok": 1, "addr": ADDRESS_BITS, "phase": 1}))),
        })


TraceEvent = data.StructLayout({"event": 4, "job_id": formats.JOB_BITS, "pulse": formats.PULSE_BITS, "index": 16})
"""An event of an offload unit, for timelines: see ``firmware_models.abi.encoding.TraceKind``."""
