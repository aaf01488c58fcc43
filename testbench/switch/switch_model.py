"""What a switch must do: the model that the bench compares with."""

import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_models.abi.formats import PACKET_HEADER


def flits_of(header: dict[str, int], payload: Sequence[int], data_width: int) -> list[int]:
    """The flits of a packet: its header, then whole flits of payload."""
    bits = PACKET_HEADER.to_int(header)
    count = max(1, PACKET_HEADER.width // data_width)
    return [bits >> data_width * k & ((1 << data_width) - 1) for k in range(count)] + list(payload)


def header_of(flits: Sequence[int], data_width: int) -> dict[str, int]:
    """The header of a packet, given its flits."""
    bits = sum(word << data_width * k for k, word in enumerate(flits[:max(1, PACKET_HEADER.width // data_width)]))
    return PACKET_HEADER.from_int(bits & ((1 << PACKET_HEADER.width) - 1))


@dataclass
class SwitchModel:
    """Routes packets as the unicast table says and keeps those that have not come out yet.

    Parameters
    ----------
    radix : int
        Ports.
    entries : int
        NodeIDs that the table covers.
    data_width : int
        Bits of a flit.
    """

    radix: int
    entries: int
    data_width: int
    default_port: int = 0
    table: dict[int, int] = field(default_factory=dict)
    received: int = 0

    def __post_init__(self) -> None:
        self._expected: defaultdict[tuple[int, int, int], deque[list[int]]] = defaultdict(deque)

    @property
    def outstanding(self) -> int:
        """Packets that went in and did not come out yet."""
        return sum(len(queue) for queue in self._expected.values())

    def route(self, dest_id: int) -> int:
        """The port that packets to `dest_id` leave by."""
        return self.table.get(dest_id, 0) if dest_id < self.entries else self.default_port

    def enter(self, port: int, vc: int, flits: list[int]) -> None:
        """A packet goes into the switch at `port`; its header must say so in `source_id`."""
        header = header_of(flits, self.data_width)
        assert header["source_id"] == port
        self._expected[self.route(header["dest_id"]), port, vc].append(flits)

    def leave(self, port: int, vc: int, flits: list[int]) -> None:
        """A packet came out at `port`: fails unless it is the next one expected there from its source and channel."""
        source = header_of(flits, self.data_width)["source_id"]
        queue = self._expected[port, source, vc]
        assert queue, f"output {port}: a packet of channel {vc} from input {source} that should not come here"
        expected = queue.popleft()
        assert flits == expected, f"output {port}: packet of channel {vc} from input {source} changed or out of order"
        self.received += 1


def random_packet(
    numbers: random.Random, *, source: int, dest_id: int, data_width: int, longest: int = 12
) -> list[int]:
    """The flits of a packet with a random payload of 0 to `longest` flits, every bit of the header random."""
    header = {
        name: numbers.randrange(1 << width) for name, width in (
            ("job_id", 8), ("length", 13), ("dest_vp", 11), ("source_vp", 11), ("tag", 16), ("addr", 64), ("pulse", 16)
        )
    }
    header |= {"dest_id": dest_id, "source_id": source}
    count = numbers.choice((0, 0, 1, 2, numbers.randint(0, longest)))
    return flits_of(header, [numbers.getrandbits(data_width) for _ in range(count)], data_width)
