"""Collectives on the RTL of a cluster, from the request to the comparison of every bit."""

from sim.operation.request import CollectiveRequest, RequestError
from sim.operation.session import CollectiveError

from .result import CollectiveResult, VerifyResult
from .run import run_collective, verify

__all__ = [
    "CollectiveError", "CollectiveRequest", "CollectiveResult", "RequestError", "VerifyResult", "run_collective",
    "verify",
]
