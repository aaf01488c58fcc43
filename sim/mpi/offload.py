"""Decides which calls of ranks the NICs can carry out, and how."""

from functools import lru_cache

from firmware_models.abi.encoding import Datatype, Operator
from firmware_models.config import Config
from firmware_models.schedule import Schedule, build, default_algorithm
from rtl.reduce.operation import operations
from sim.mpi.agreement import Call, Communicator
from sim.mpi.element import Carrier, carrier
from sim.mpi.operation import HOUSE_NAMES, PREFIXES, REDUCTIONS
from sim.mpi.policy import Policy
from sim.mpi.wire import Reason

_MOVED = Carrier(Datatype.BYTE, Operator.SUM)
"""Carries what is not computed with."""


class Offload:
    """Decides by the first call of a round for all of its ranks.

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

    def reason(self, call: Call) -> Reason:
        """Why MPI shall do what such a call is one of, or that the NICs can; the same for the calls of all ranks."""
        if call.request.reason:
            return Reason(call.request.reason)
        if call.collective not in HOUSE_NAMES:
            return Reason.NO_SCHEDULE
        if self._carrier(call) is None:
            return Reason.NOT_IN_REDUCE_UNIT
        return Reason.OFFLOADED

    def carrier(self, call: Call) -> Carrier:
        """Carrier of the elements of a call for which there is no such reason."""
        carried = self._carrier(call)
        assert carried is not None
        return carried

    def schedule(self, communicator: Communicator, call: Call) -> Schedule:
        """How the NICs do it: as was asked for, or by default where that needs a group that is not there.

        Raises
        ------
        ScheduleError
            If there is no such schedule for so many ranks.
        """
        house = HOUSE_NAMES[call.collective]
        wanted = self.policy.algorithm(house)
        if "multicast" in wanted and communicator.members != tuple(range(self.n_nodes)):
            wanted = default_algorithm(house)
        return _built(house, wanted, communicator.size, call.request.root)

    def _carrier(self, call: Call) -> Carrier | None:
        request, collective = call.request, call.collective
        if collective not in REDUCTIONS:
            return _MOVED
        key = request.element, request.op, collective in PREFIXES
        if key not in self._carriers:
            self._carriers[key] = carrier(request.element, request.op, able=self._able, prefix=collective in PREFIXES)
        return self._carriers[key]


@lru_cache(maxsize=1024)
def _built(house: str, algorithm: str, ranks: int, root: int) -> Schedule:
    return build(house, algorithm, n_nodes=ranks, root=root)
