"""Registers around the memories in which the credit table counts."""

from amaranth import Cat, Signal
from amaranth.lib import data
from amaranth.lib.data import View
from amaranth.utils import bits_for

from rtl.credit.credit_sizes import CreditSizes
from rtl.kit.index import index_bits


class Counts:
    """Registers before and behind the memories of the counts.

    Parameters
    ----------
    job_bits, peer_bits : int
        Bits of a JobID, and of a peer's number.
    shares : bool
        If true, peers grant shared credits.
    asking, giving : View
        The request, and the credits that return.
    n_window_slots : int
        Window slots of a multicast group.
    sizes : CreditSizes
        Bounds of the counts.

    Members
    -------
    look, given, others : Signal
        Address that is read while nothing is in hand; the one that a returned credit reads; who is served in the next
        cycle, if not a request.
    enable, fill : Signal
        The memories read; their outputs go into registers, which a state of its own does.
    stored, sum_out : Signal
        These registers: outstanding credits of each window slot of a peer, a flag that they are those of a group, and
        with a pool shared credits that are here, who granted them, and a flag that a request was refused; all
        outstanding credits of a job, a flag that the return of the last one is to be reported, and packets that have
        asked for a shared credit and have no answer yet.
    address, job, update, after, updates, sums_up : Signal
        Address, contents, and enables of the next write of both memories: nothing is read in the cycle after it.
    back, last : Signal
        Credits that count as returned; they are the last ones of their window slot.
    ask_address, give_address : Value
        Addresses of a request, and of credits that return.
    """

    def __init__(
        self, *, job_bits: int, peer_bits: int, shares: bool, asking: View, giving: View, n_window_slots: int,
        sizes: CreditSizes,
    ):
        address = job_bits + peer_bits
        self.n_counts = max(n_window_slots, 2) if shares else n_window_slots
        slot, wanted = {}, {}
        if shares:
            slot = {"n_shared": bits_for(sizes.most_kept), "slot": index_bits(sizes.most_wanted), "refused": 1}
            wanted = {"wanted": bits_for(sizes.most_wanted)}
        entry = data.StructLayout({"out": data.ArrayLayout(sizes.count_bits, self.n_counts), "group": 1, **slot})
        totals = data.StructLayout({"out": sizes.total_bits, "watched": 1, **wanted})
        self.look, self.given, self.address = (
            Signal(address, name=name) for name in ("look_address", "given_address", "address")
        )
        self.others, self.job = Signal(3, name="others_turn"), Signal(job_bits, name="job")
        self.enable, self.fill, self.updates, self.sums_up, self.last = (
            Signal(name=name) for name in ("reads", "fill", "updates", "sums_up", "gives_last")
        )
        self.back = Signal(sizes.count_bits, name="back")
        self.stored, self.update = Signal(entry, name="stored"), Signal(entry, name="update")
        self.sum_out, self.after = Signal(totals, name="sum_out"), Signal(totals, name="after")
        self.ask_address = Cat(asking.peer[: peer_bits], asking.job_id)
        self.give_address = Cat(giving.peer[: peer_bits], giving.job_id)
