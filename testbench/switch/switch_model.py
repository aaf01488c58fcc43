"""Model of a switch, which the bench compares with."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from firmware_models.abi.formats import FIRST_MLID, PACKET_HEADER


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
    """Routes packets as the tables say and keeps those that have not come out yet.

    Parameters
    ----------
    radix : int
        Ports.
    entries : int
        NodeIDs that the unicast table covers.
    mft_entries : int
        MLIDs that the multicast table covers, from 0xC000.
    data_width : int
        Bits of a flit.
    """

    radix: int
    entries: int
    mft_entries: int
    data_width: int
    default_port: int = 0
    table: dict[int, int] = field(default_factory=dict)
    groups: dict[int, set[int]] = field(default_factory=dict)
    """Ports of each MLID."""
    sources: dict[int, int] = field(default_factory=dict)
    """NodeID whose packets a port lets in, of ports that are checked."""
    received: int = 0
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Expected values of the switch's counters, by counter and port."""

    def __post_init__(self) -> None:
        self._expected: defaultdict[tuple[int, int, int, int], deque[list[int]]] = defaultdict(deque)

    @property
    def outstanding(self) -> int:
        """Packets and copies that went in and did not come out yet."""
        return sum(len(queue) for queue in self._expected.values())

    def route(self, dest_id: int) -> int:
        """The port that packets to `dest_id` leave by."""
        return self.table.get(dest_id, 0) if dest_id < self.entries else self.default_port

    def ports_of(self, header: dict[str, int], ingress: int) -> set[int]:
        """The ports by which a packet leaves."""
        if not header["multicast"]:
            return {self.route(header["dest_id"])}
        known = FIRST_MLID <= header["mlid"] < FIRST_MLID + self.mft_entries
        return (self.groups.get(header["mlid"], set()) if known else set()) - {ingress}

    def enter(self, port: int, vc: int, flits: list[int]) -> None:
        """A packet goes into the switch at `port`; its header must say so in `source_id`, unless it is to be discarded
        for what it says."""
        header = header_of(flits, self.data_width)
        forged = header["source_id"] != self.sources.get(port, header["source_id"])
        assert forged or header["source_id"] == port
        ports = set() if forged else self.ports_of(header, port)
        self.count("rx", port, flits)
        self.counts["forged", port] += forged
        self.counts["discarded", port] += not ports
        for target in ports:
            self._expected[target, port, vc, header["multicast"]].append(flits)

    def leave(self, port: int, vc: int, flits: list[int]) -> None:
        """A packet came out at `port`: fails unless it is the next one of its kind expected there from its source."""
        header = header_of(flits, self.data_width)
        source = header["source_id"]
        queue = self._expected[port, source, vc, header["multicast"]]
        assert queue, f"output {port}: a packet of channel {vc} from input {source} that should not come here"
        expected = queue.popleft()
        assert flits == expected, f"output {port}: packet of channel {vc} from input {source} changed or out of order"
        self.count("tx", port, flits)
        self.received += 1

    def count(self, direction: str, port: int, flits: Sequence[int]) -> None:
        """Counts a packet that came in (`rx`) or was sent (`tx`)."""
        self.counts[f"{direction}_packets", port] += 1
        self.counts[f"{direction}_flits", port] += len(flits)


def random_packet(
    numbers: random.Random, *, source: int, dest_id: int, data_width: int, longest: int = 12, mlid: int | None = None,
    honest: bool = True, exactly: int | None = None,
) -> list[int]:
    """The flits of a packet with a random payload of 0 to `longest` flits (or `exactly`), the header random.

    With `mlid` it is a multicast; if it is not `honest`, its header gives any length.
    """
    header = {
        name: numbers.randrange(1 << PACKET_HEADER[name].width)
        for name in ("job_id", "length", "dest_vp", "source_vp", "tag", "addr", "pulse")
    }
    header |= {"dest_id": dest_id, "source_id": source, "multicast": int(mlid is not None)}
    header["mlid"] = numbers.randrange(1 << 16) if mlid is None else mlid
    count = numbers.choice((0, 0, 1, 2, numbers.randint(0, longest))) if exactly is None else exactly
    if honest:
        header["length"] = count * data_width // 8 - numbers.randrange(8 if count else 1)
    return flits_of(header, [numbers.getrandbits(data_width) for _ in range(count)], data_width)
