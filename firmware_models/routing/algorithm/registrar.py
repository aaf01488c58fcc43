"""Members come and go one by one, as a subnet manager hears of them."""

from firmware_models.routing.algorithm.router import Router
from firmware_models.routing.network import RoutingError


class Registrar:
    """Joins and leaves, member by member: a group is routed when it is complete, and removed when its last member has
    left.

    So no route is computed twice because requests come one after the other, and none changes because one member leaves.

    Parameters
    ----------
    router : Router
        Gets the groups.
    """

    def __init__(self, router: Router):
        self.router = router
        self._expected: dict[str, int] = {}
        self._joined: dict[str, set[int]] = {}

    def announce(self, name: str, size: int) -> None:
        """Says that group `name` will have `size` members.

        Raises
        ------
        RoutingError
            If it has been announced already, or is empty.
        """
        if name in self._expected:
            raise RoutingError(f"group {name!r} must be announced once, not twice")
        if size < 1:
            raise RoutingError(f"size of group {name!r} must be at least 1, not {size}")
        self._expected[name], self._joined[name] = size, set()

    def join(self, name: str, endpoint: int) -> bool:
        """Takes in a member; True if the group is complete now, and has been routed.

        Raises
        ------
        RoutingError
            If the group was not announced, is complete, or has that member.
        """
        joined = self._joined_to(name)
        if len(joined) == self._expected[name] or name in self.router.groups:
            raise RoutingError(f"group {name!r} must have at most {self._expected[name]} members, as announced")
        if endpoint in joined:
            raise RoutingError(f"endpoint {endpoint} must join group {name!r} once, not twice")
        joined.add(endpoint)
        if len(joined) < self._expected[name]:
            return False
        self.router.join(name, sorted(joined))
        return True

    def leave(self, name: str, endpoint: int) -> bool:
        """Lets a member go; True if it was the last one, and the group has been removed.

        Raises
        ------
        RoutingError
            If it is not a member.
        """
        joined = self._joined_to(name)
        if endpoint not in joined:
            raise RoutingError(f"endpoint {endpoint} must be a member of group {name!r} to leave it")
        joined.remove(endpoint)
        if joined:
            return False
        if name in self.router.groups:
            self.router.leave(name)
        del self._joined[name], self._expected[name]
        return True

    def _joined_to(self, name: str) -> set[int]:
        if name not in self._expected:
            raise RoutingError(f"group {name!r} must be announced before members join or leave")
        return self._joined[name]
