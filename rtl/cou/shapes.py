"""Layouts of the streams between the parts of an offload unit."""

from amaranth.lib import data, enum
from amaranth.utils import bits_for

from firmware_models.abi.formats import TERMS_BITS
from firmware_models.config import Config
from rtl.abi import control_layout, layout
from rtl.buffer.layouts import exit_layout, free_layout, hash_bits
from rtl.credit.layouts import credit_notice
from rtl.interface import ADDRESS_BITS, inline_layout
from rtl.kit.index import index_bits


class Source(enum.Enum, shape=2):
    """Where a pass takes operand a from."""

    ZERO = 0
    """Nothing: zeros. What a context held for another job must never leave the unit."""
    OPERAND = 1
    """The operand memory of the context."""
    RESULT = 2
    """The intermediate result of the context."""


class Select(enum.Enum, shape=2):
    """How a pass combines operands a and b; the encoding of the reduce unit."""

    PASS_A = 0
    PASS_B = 1
    COMBINE = 2


class CouShapes:
    """Shapes that follow from the configuration, which is not kept; one object for all parts of a unit.

    Parameters
    ----------
    config : Config
        ``datapath``, ``cou``, the bits of an address, and the formats.
    """

    def __init__(self, config: Config):
        self.formats = formats = config.formats
        """Formats of descriptors, packets and keys; the layouts of these."""
        self.control = control_layout(formats.descriptor)
        self.header = layout(formats.packet_header)
        self.key = layout(formats.hash_key)
        self.notice = credit_notice(formats)
        self.context = index_bits(config.cou.n_contexts)
        self.job = index_bits(config.cou.n_jobs)
        self.position = index_bits(config.cou.sequence_depth)
        self.packet = index_bits(config.buffer_slots)
        self.hash = hash_bits(config)
        """Bits of the hash of a key that comes with it to the packet buffer; 0 if that has hashes of its own."""
        self.free = free_layout(self.packet, formats)
        self.exit = exit_layout(self.packet, self.hash, formats)
        self.peer = index_bits(config.cou.n_peers)
        self.data_width, self.flit_bytes = config.datapath.data_width, config.datapath.flit_bytes
        """Bits, and bytes, of a beat."""
        inline = inline_layout(self.data_width)
        self.word_address = data.StructLayout({
            "index": inline["index"].width, "position": self.position, "job": self.job,
        })
        """Address of a word of inline data in the memory of a unit."""
        self.beats_per_context = config.datapath.mtu // self.flit_bytes
        self.beats = bits_for(self.beats_per_context)
        self.flit_log2 = index_bits(self.flit_bytes)
        self.block = bits_for(config.cou.n_blocks + 1)
        """A block number, or one behind the empty slice."""
        self.bytes = bits_for(config.datapath.mtu)
        self.result_bytes = bits_for(config.cou.intermediate_bytes)
        self.result_position = index_bits(config.cou.intermediate_bytes)
        """The place of a byte in the intermediate result of a context."""
        self.result_address = self.result_position + self.context
        """That of a byte in the intermediate results of all contexts."""

        self.blocks = data.StructLayout({
            "cut": 1, "count": self.block, "bytes": 32, "n_full": self.block, "tail_bytes": 32, "clear": 1,
        })
        """How a message is cut: not at all (then `bytes` is its length), or as :class:`BlockCutter` says. `clear`: some
        descriptor reads blocks that none before it has written."""
        self.pieces = data.StructLayout({
            "count": self.block, "bytes": self.bytes, "last_bytes": self.bytes, "stride": 32,
        })
        """Pieces of equal size at equal distances, and a smaller one behind them, which alone may be empty."""
        self.operation = data.StructLayout({
            "job": self.job, "job_id": formats.job_bits, "vp": formats.vp_bits, "tag": 32, "length": 32,
            "pulse_bytes": 16, "base_pulse": formats.pulse_bits, "n_descriptors": self.position + 1,
            "blocks": self.blocks, "lazy": 1, "terms": TERMS_BITS,
        })
        """`lazy`: no descriptor reads blocks that another one has merely sent from host memory."""
        self.start = data.StructLayout({
            "job": self.job, "job_id": formats.job_bits, "pulse": formats.pulse_bits, "offset": 32, "bytes": self.bytes,
            "cut": 1, "clear": 1,
        })
        """A pulse that begins; `cut` and `clear` are those of its operation's blocks."""
        self.address = config.nic.address_bits
        self.load = data.StructLayout({
            "context": self.context, "job": self.job, "position": self.position, "from_payload": 1, "beside": 1,
            "addr": self.address, "pieces": self.pieces,
        })
        """`beside`: nobody waits for a report; the pass that reads the operand may be on its way."""
        self.loaded = data.StructLayout({"context": self.context})
        self.fault = data.StructLayout({"job": self.job, "status": 8, "detail": 64})
        """An error of an operation: status and detail of its completion."""
        self.output = data.StructLayout({
            "context": self.context, "job": self.job, "position": self.result_bytes, "bytes": self.result_bytes,
            "send": 1, "header": self.header, "write_back": 1, "result_addr": ADDRESS_BITS, "pieces": self.pieces,
        })
        """`result_addr` is whole, for the report of one that no window holds; with `write_back` it has been checked."""
        self.run = data.StructLayout({
            "a": Source, "select": Select, "use_packet": 1, "datatype": 4, "operator": 4,
            "consume": 1, "packet": self.packet, "key": self.key, "credit": self.notice, "output": self.output,
        })
        """One pass: operand a and the packet's data through the reduce unit, to the destinations in ``output``."""
        self.send = data.StructLayout({
            "a": Source, "context": self.context, "position": self.result_bytes, "bytes": self.result_bytes, "send": 1,
            "header": self.header,
        })
        """A pass that only sends what lies on chip, or not even that."""
        self.holds = data.StructLayout({
            "live": 1, "job_id": formats.job_bits, "waits": 1, "terms": TERMS_BITS,
            "next_pulse": formats.pulse_bits,
        })
        """An entry of the operation table, as those see it who ask whether a job has an operation here. `waits`: half
        of its watchdog has run out. `next_pulse`: the first one that has not begun."""
        self.released = data.StructLayout({"job": self.job, "pulses": formats.pulse_bits})
        """An operation is over, and had so many pulses."""
        self.done = data.StructLayout({"context": self.context})
        self.written = data.StructLayout({"job": self.job, "error": 1})

    def check(self, *, n_contexts: int = 1, n_jobs: int = 1) -> None:
        """Checks numbers of contexts and of operations.

        Raises
        ------
        ValueError
            If there is none, or one that has no number in these shapes.
        """
        for name, value, bits in (("n_contexts", n_contexts, self.context), ("n_jobs", n_jobs, self.job)):
            if not 1 <= value <= 1 << bits:
                raise ValueError(f"{name} must be 1 to {1 << bits}, not {value!r}")
