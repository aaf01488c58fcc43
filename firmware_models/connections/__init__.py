"""Connections: their memory by the paper's formulas, and a manager that keeps them.

"Research of Message Scalable Technology over InfiniBand Network" (RC, SRQ, XRC, group connection); the page is
``docs/connections.md``.
"""

from firmware_models.connections.audit import violations
from firmware_models.connections.error import ConnectionsError
from firmware_models.connections.group_size import GroupSize, best_group_size, group_size_curve
from firmware_models.connections.layout import Layout
from firmware_models.connections.manager import Costs, Policy, Run, run_trace
from firmware_models.connections.memory import Machine, node_bytes, process_bytes, queue_pairs
from firmware_models.connections.scheme import Scheme
from firmware_models.connections.sizes import QueueSizes

__all__ = [
    "ConnectionsError", "Costs", "GroupSize", "Layout", "Machine", "Policy", "QueueSizes", "Run", "Scheme",
    "best_group_size", "group_size_curve", "node_bytes", "process_bytes", "queue_pairs", "run_trace", "violations",
]
