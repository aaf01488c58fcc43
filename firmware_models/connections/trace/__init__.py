"""Message traces: schedules, patterns by rule, files."""

from firmware_models.connections.trace.collective import schedule_trace
from firmware_models.connections.trace.goal import read_goal
from firmware_models.connections.trace.messages import Messages, Trace, connection_set, peers, trace_of
from firmware_models.connections.trace.parse import TRACES, parse_trace
from firmware_models.connections.trace.table_file import read_csv

__all__ = [
    "TRACES", "Messages", "Trace", "connection_set", "parse_trace", "peers", "read_csv", "read_goal", "schedule_trace",
    "trace_of",
]
