"""Sizes that the parts of a switch share."""

from amaranth.lib import data

from firmware_models.abi import formats
from firmware_models.config import Config, ConfigError
from rtl.interface import flit

HEADER_BITS = formats.PACKET_HEADER.width
DEST_FLIT_BITS = formats.PACKET_HEADER.offset("dest_id")


class SwitchSizes:
    """Sizes of a switch, all from the configuration, which is not kept.

    Parameters
    ----------
    config : Config
        ``datapath``, ``link`` and ``switch`` are used.

    Raises
    ------
    ConfigError
        If a buffer does not hold more than the longest packet.
    """

    def __init__(self, *, config: Config):
        self.radix, self.readers = config.switch.radix, config.switch.readers
        """Ports; packets that a channel of an input sends at once."""
        self.match_iterations = config.switch.match_iterations
        self.data_width, self.flit_bytes = config.datapath.data_width, config.datapath.flit_bytes
        """Bits, and bytes, of a flit."""
        self.buffer_flits = config.link.buffer_flits
        """Credits of a link, for each channel."""
        self.marked = config.link.reliable
        """True if the last flit of a packet can be marked `bad`, as behind a reliable link."""
        self.header_flits, self.mtu = config.header_flits, config.datapath.mtu
        if self.buffer_flits <= self.longest:
            raise ConfigError(
                f"link.buffer_flits must be above {self.longest}, the flits of a packet of mtu {self.mtu}, "
                f"not {self.buffer_flits!r}"
            )

    @property
    def flit(self) -> data.StructLayout:
        """A flit inside of the switch."""
        return flit(self.data_width, marked=self.marked)

    @property
    def longest(self) -> int:
        """Flits of the longest packet."""
        return self.header_flits + self.mtu // self.flit_bytes

    @property
    def short(self) -> int:
        """Flits of the longest packet that counts as short: one with the payload of a mini packet."""
        return self.header_flits + -(-formats.PAYLOAD_BYTES // self.flit_bytes)

    @property
    def dest_flit(self) -> int:
        """Number of the flit that holds `dest_id` and `mlid`: packets that end before it have no destination."""
        first, last = (formats.PACKET_HEADER.offset(name) for name in ("dest_id", "mlid"))
        assert first // self.data_width == last // self.data_width
        return first // self.data_width

    @property
    def source_flit(self) -> int:
        """Number of the flit that holds `source_id`, the same as `dest_flit` or the next one."""
        number = formats.PACKET_HEADER.offset("source_id") // self.data_width
        assert number in (self.dest_flit, self.dest_flit + 1)
        return number

    @property
    def granule_flits(self) -> int:
        """Flits of a granule of the buffer: a header, so that small packets waste nothing."""
        return self.header_flits

    @property
    def n_granules(self) -> int:
        """Granules of a channel's buffer, enough for whatever comes within the credits.

        The worst are packets of a flit more than whole granules, or the shortest that have a destination.
        Beyond them: one being written, one open for the next packet; for each reader one partly read and one on its way
        in the free list.
        """
        lengths = range(self.dest_flit + 1, 2 * self.granule_flits + 2)
        flits, granules = min(
            ((flits, -(-flits // self.granule_flits)) for flits in lengths), key=lambda pair: pair[0] / pair[1],
        )
        return -(-self.buffer_flits * granules // flits) + 2 + 2 * self.readers
