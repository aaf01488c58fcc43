"""A virtual port without its bus: rings, windows, doorbells and completions, as steps."""

from collections.abc import Iterable
from dataclasses import dataclass

from firmware_models.abi.encoding import Right
from firmware_models.abi.formats import COMPLETION, DESCRIPTOR, RECEIVE
from firmware_models.abi.registers import CONTROL_PAGE, rights_word, vp_address

from .access import Read, Steps, Write
from .error import HostError
from .memory import Allocator, Memory
from .registers import CONTROL, halves
from .ring import DescriptorRing, EventRing


@dataclass(frozen=True, kw_only=True)
class Rings:
    """Sizes of a port's rings: logarithms of their entries."""

    dq_log2: int = 7
    cq_log2: int = 6
    rq_log2: int = 4


@dataclass(frozen=True, kw_only=True)
class RingBases:
    """Addresses of a port's rings; each is a multiple of the size of its entries."""

    dq: int
    cq: int
    rq: int

    @classmethod
    def allocate(cls, memory: Allocator, sizes: Rings) -> "RingBases":
        """Fresh memory for rings of these sizes."""
        # The NIC takes the base of a ring for a multiple of its entries' size.
        dq, cq, rq = (
            memory.allocate(entry.bytes << log2, alignment=entry.bytes)
            for entry, log2 in ((DESCRIPTOR, sizes.dq_log2), (COMPLETION, sizes.cq_log2), (RECEIVE, sizes.rq_log2))
        )
        return cls(dq=dq, cq=cq, rq=rq)


class PortSteps:
    """One virtual port of a NIC. What needs registers are steps, for :mod:`firmware_models.host.access` to carry out.

    Parameters
    ----------
    vp : int
        Number of the port.
    memory : Memory
        Host memory.
    sizes : Rings
        Sizes of its rings.
    bases : RingBases
        Where they stand.
    first : int
        First index of its descriptor and completion ring: 0 after a commit.

    Members
    -------
    descriptors : DescriptorRing
        What the NIC is to do.
    completions, received : EventRing
        What has ended; mini packets that have come.
    """

    def __init__(self, vp: int, memory: Memory, *, sizes: Rings, bases: RingBases, first: int = 0):
        self.vp, self.memory = vp, memory
        self.descriptors = DescriptorRing(
            memory, base=bases.dq, log2=sizes.dq_log2, first=first, name=f"descriptor ring of VP {vp}"
        )
        self.completions = EventRing(memory, base=bases.cq, log2=sizes.cq_log2, entry=COMPLETION, first=first)
        self.received = EventRing(memory, base=bases.rq, log2=sizes.rq_log2, entry=RECEIVE, first=first)

    def enable(self, base: int, limit: int, rights: Iterable[Right] = tuple(Right)) -> Steps[None]:
        """Loads the port's record and enables it; memory [base, limit) is window 0, and there is no other.

        Raises :class:`HostError` if the NIC has no such addresses.
        """
        values = {
            "vp_select": self.vp, "vp_dq_log2": self.descriptors.log2, "vp_cq_log2": self.completions.log2,
            "vp_rq_log2": self.received.log2,
        }
        values |= yield from self._addresses(
            vp_dq_base=self.descriptors.base, vp_cq_base=self.completions.base, vp_rq_base=self.received.base,
            vp_window_base=base, vp_window_limit=limit,
        )
        yield from _write(values | {
            "vp_window_rights": rights_word(rights), "vp_commit": CONTROL_PAGE.pack("vp_commit", enable=1),
        })

    def register_window(self, index: int, base: int, limit: int, rights: Iterable[Right] = tuple(Right)) -> Steps[None]:
        """Registers memory [base, limit) as window `index` of the port, which :meth:`enable` has enabled.

        Raises :class:`HostError` if the NIC does not have that window, or no such addresses.
        """
        yield from self._select_window(index)
        values = yield from self._addresses(vp_window_base=base, vp_window_limit=limit)
        yield from _write(values | {
            "vp_window_rights": rights_word(rights), "window_commit": CONTROL_PAGE.pack("window_commit", enable=1),
        })

    def withdraw_window(self, index: int) -> Steps[None]:
        """Withdraws a window: what is asked for from now on is refused. Operations that use it should have ended."""
        yield from self._select_window(index)
        yield from _write({"window_commit": 0})

    def post(self, descriptors: bytes) -> list[int]:
        """Puts packed descriptors into the ring, for a doorbell to follow; their addresses.

        Raises :class:`HostError` if they cannot fit, or would overwrite what may not have been fetched.
        """
        return self.descriptors.put(descriptors)

    def ring(self, *, not_before: int = 0) -> Steps[None]:
        """Rings the doorbell: what has been posted may be fetched."""
        yield Write(vp_address(self.vp, "dq_prod"), self.descriptors.publish(), not_before)

    def take_completion(self) -> dict[str, int] | None:
        """Fields of the next completion, if it is there; its room is returned by :meth:`acknowledge`."""
        entry = self.completions.take()
        if entry is not None:
            self.descriptors.complete()
        return entry

    def acknowledge(self) -> Steps[None]:
        """Reports to the NIC which completions have been read: it may write their entries again."""
        yield Write(vp_address(self.vp, "cq_cons"), self.completions.consumed)

    def take_message(self) -> dict[str, int] | None:
        """Fields of the next mini packet, if it is there; its room is returned by :meth:`acknowledge_messages`."""
        return self.received.take()

    def acknowledge_messages(self) -> Steps[None]:
        """Tells the NIC which mini packets have been read."""
        yield Write(vp_address(self.vp, "rq_cons"), self.received.consumed)

    def _select_window(self, index: int) -> Steps[None]:
        n_windows = yield Read(CONTROL["n_windows"])
        if not 0 <= index < n_windows:
            raise HostError(f"window of VP {self.vp} must be 0 to {n_windows - 1} (nic.n_windows), not {index}")
        yield from _write({"vp_select": self.vp, "window_select": index})

    def _addresses(self, **addresses: int) -> Steps[dict[str, int]]:
        """The registers of addresses. Raises :class:`HostError` if the NIC has fewer bits than one of them needs."""
        values: dict[str, int] = {}
        for name, address in addresses.items():
            low, high = halves(name)
            if address >> 32:
                # A register with the upper half of an address holds the bits that there are.
                yield Write(CONTROL[high], 0xFFFFFFFF)
                n_bits = 32 + (yield Read(CONTROL[high])).bit_length()
                if address >> n_bits:
                    raise HostError(
                        f"{name} of VP {self.vp} must be below 2**{n_bits} (nic.address_bits), not {address:#x}"
                    )
            values |= {low: address & 0xFFFFFFFF, high: address >> 32}
        return values


def _write(values: dict[str, int]) -> Steps[None]:
    """Writes registers of the control page, in order."""
    for name, value in values.items():
        yield Write(CONTROL[name], value)
