"""Objects that all other parts use: a wired network, groups that want to talk on it, forwarding tables."""

from firmware_models.routing.network.error import RoutingError
from firmware_models.routing.network.groups import FIRST_MLID, MAX_MLIDS, Groups
from firmware_models.routing.network.network import Network
from firmware_models.routing.network.plane import Plane
from firmware_models.routing.network.tables import ForwardingTables, port_words

__all__ = ["FIRST_MLID", "MAX_MLIDS", "ForwardingTables", "Groups", "Network", "Plane", "RoutingError", "port_words"]
