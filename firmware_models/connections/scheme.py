"""Ways to keep connections, by name."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Traits:
    """Traits that distinguish the schemes.

    Members
    -------
    has_srq : bool
        All queue pairs of a process take receive buffers from one shared receive queue (paper, section 2).
    has_xrc : bool
        One queue pair reaches all processes of a node (section 3).
    has_sizes : bool
        Receive buffers of several lengths, each in a shared receive queue of its own (section 3.2).
    is_grouped : bool
        Static connections within groups and between equal indexes of groups; all others on demand (section 4).
    about : str
        In a few words.
    """

    has_srq: bool
    has_xrc: bool
    has_sizes: bool
    is_grouped: bool
    about: str


class Scheme(Enum):
    """A way to keep connections; the value is its name on the command line."""

    RC = "rc"
    RC_SRQ = "rc-srq"
    XRC = "xrc"
    XRC_SIZES = "xrc-sizes"
    GROUP = "group"
    GROUP_XRC = "group-xrc"
    GROUP_XRC_SIZES = "group-xrc-sizes"

    @property
    def traits(self) -> Traits:
        """Traits of the scheme."""
        return _TRAITS[self]

    @property
    def paper_name(self) -> str:
        """Name of the scheme in the paper's tables; "" if it is in none."""
        return {Scheme.RC: "RC", Scheme.RC_SRQ: "RC_SRQ", Scheme.XRC: "XRC_S", Scheme.XRC_SIZES: "XRC_M",
                Scheme.GROUP_XRC: "XRC_S_G"}.get(self, "")


_TRAITS = {
    Scheme.RC: Traits(False, False, False, False, "a queue pair and receive buffers for every process"),
    Scheme.RC_SRQ: Traits(True, False, False, False, "a queue pair for every process, shared receive queue"),
    Scheme.XRC: Traits(True, True, False, False, "a queue pair for every node, shared receive queue"),
    Scheme.XRC_SIZES: Traits(True, True, True, False, "a queue pair for every node, receive buffers of several sizes"),
    Scheme.GROUP: Traits(True, False, False, True, "groups; within them a queue pair for every process"),
    Scheme.GROUP_XRC: Traits(True, True, False, True, "groups; within them a queue pair for every node"),
    Scheme.GROUP_XRC_SIZES: Traits(True, True, True, True, "the same, receive buffers of several sizes"),
}
