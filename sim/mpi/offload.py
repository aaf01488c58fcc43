"""What the NICs can do of what ranks call, and how."""

from functools import lru_cache

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config import Config
from firmware_models.schedule import Schedule, build, default_algorithm
from rtl.reduce.operation import operations
from sim.mpi.agreement import Communicator, Round
from sim.mpi.element import Carrier, carrier
from sim.mpi.operation import HOUSE_NAMES, PREFIXES, REDUCTIONS
from sim.mpi.policy import Policy
from sim.mpi.tally import reason_text
from sim.mpi.wire import Reason

_MOVED = Carrier(Datatype.BYTE, Operator.SUM)
"""Carries what is not computed with."""


class Offload:
    """Decides for all ranks of a round together.

    Parameters
    ----------
    config : Config
        Of the NICs.
    n_nodes : int
        How many there are.
    policy : Policy
        Which algorithms are wanted.
    """

    def __init__(self, config: Config, n_nodes: int, policy: Policy):
        self.n_nodes, self.policy = n_nodes, policy
        self._able = {(able.datatype, able.operator) for able in operations(config.reduce)}
        self._carriers: dict[tuple[int, int, bool], Carrier | None] = {}

    def reason(self, found: Round) -> str:
        """Why MPI shall do it, or nothing."""
        for call in found.calls.values():
            if call.request.reason:
                return reason_text(call.request.reason)
        collective = found.calls[0].collective
        if collective not in HOUSE_NAMES:
            return reason_text(Reason.NO_SCHEDULE)
        if collective in REDUCTIONS and self._found(found) is None:
            return reason_text(Reason.NOT_IN_REDUCE_UNIT)
        return ""

    def carrier(self, found: Round) -> Carrier:
        """What carries the elements of a round for which there is no such reason."""
        carried = self._found(found)
        assert carried is not None
        return carried

    def schedule(self, communicator: Communicator, found: Round) -> Schedule:
        """How the NICs do it: as was asked for, or by default where that needs a group that is not there.

        Raises
        ------
        ScheduleError
            If there is no such schedule for so many ranks.
        """
        house = HOUSE_NAMES[found.calls[0].collective]
        wanted = self.policy.algorithm(house)
        if "multicast" in wanted and communicator.members != tuple(range(self.n_nodes)):
            wanted = default_algorithm(house)
        return _built(house, wanted, communicator.size, found.calls[0].request.root)

    def _found(self, found: Round) -> Carrier | None:
        request, collective = found.calls[0].request, found.calls[0].collective
        if collective not in REDUCTIONS:
            return _MOVED
        key = request.element, request.op, collective in PREFIXES
        if key not in self._carriers:
            self._carriers[key] = carrier(request.element, request.op, able=self._able, prefix=collective in PREFIXES)
        return self._carriers[key]


@lru_cache(maxsize=1024)
def _built(house: str, algorithm: str, ranks: int, root: int) -> Schedule:
    return build(house, algorithm, n_nodes=ranks, root=root)
