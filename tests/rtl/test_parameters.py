"""Parameters of parts that are built without a configuration: what cannot be is refused by name."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib.wiring import Component

from firmware_models.abi.formats import WIRE
from rtl.cou.closed_jobs import ClosedJobs
from rtl.cou.context_file import ContextFile
from rtl.cou.job_closer import JobCloser
from rtl.cou.lane import Lane
from rtl.cou.operand_reader import OperandReader
from rtl.cou.operation_table import OperationTable
from rtl.cou.plan_stage import PlanStage
from rtl.cou.send_engine import SendEngine
from rtl.cou.shapes import CouShapes
from rtl.credit.credit_table import CreditTable
from rtl.nic.group_filter import GroupFilter
from rtl.nic.job_locator import JobLocator
from rtl.nic.receive_router import ReceiveRouter
from rtl.nic.unit_figures import UnitFigures
from testbench.unit_config import UNIT

SHAPES = CouShapes(UNIT.changed(cou={"n_jobs": 4, "n_contexts": 8, "buffer_bytes": 32768}, datapath={"mtu": 256}))
CONTEXTS: dict[Callable[..., Component], dict[str, Any]] = {
    PlanStage: {}, SendEngine: {}, OperandReader: {"aside": 1}, Lane: {"ecc": False}, ContextFile: {"n_jobs": 4},
    OperationTable: {"n_jobs": 4},
}
"""Parts with a parameter `n_contexts`, and their others."""
JOBS: dict[Callable[..., Component], dict[str, Any]] = {
    ClosedJobs: {}, JobCloser: {"n_slots": 128}, ContextFile: {"n_contexts": 8}, OperationTable: {"n_contexts": 8},
}
"""Parts with a parameter `n_jobs`, and their others."""
TABLE = {"formats": WIRE, "n_peers": 16, "peer_credits": 1, "shares": True}
ROUTER = {"data_width": 64, "n_cous": 2, "p2p": True, "get": True, "vc": 0}
LOCATOR = {"data_width": 64, "n_vps": 16, "vc": 0}


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("value", [0, 9])
@pytest.mark.parametrize("part", CONTEXTS)
def test_contexts(part: Callable[..., Component], value: int) -> None:
    with pytest.raises(ValueError, match=f"^n_contexts must be 1 to 8, not {value}$"):
        part(shapes=SHAPES, n_contexts=value, **CONTEXTS[part])


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize("value", [0, 5])
@pytest.mark.parametrize("part", JOBS)
def test_jobs(part: Callable[..., Component], value: int) -> None:
    with pytest.raises(ValueError, match=f"^n_jobs must be 1 to 4, not {value}$"):
        part(shapes=SHAPES, n_jobs=value, **JOBS[part])


@pytest.mark.usefixtures("refusal")
@pytest.mark.parametrize(("part", "parameters", "message"), [
    (JobCloser, {"shapes": SHAPES, "n_jobs": 4, "n_slots": 0}, "n_slots must be 1 to 128, not 0"),
    (JobCloser, {"shapes": SHAPES, "n_jobs": 4, "n_slots": 129}, "n_slots must be 1 to 128, not 129"),
    (CreditTable, TABLE | {"n_peers": 0}, "n_peers must be 1 to 64, not 0"),
    (CreditTable, TABLE | {"n_peers": 65}, "n_peers must be 1 to 64, not 65"),
    (CreditTable, TABLE | {"peer_credits": 0}, "peer_credits must be at least 1, not 0"),
    (GroupFilter, {"data_width": 64, "n_groups": 0}, "n_groups must be 1 to 256, not 0"),
    (GroupFilter, {"data_width": 64, "n_groups": 257}, "n_groups must be 1 to 256, not 257"),
    (JobLocator, LOCATOR | {"n_vps": 0}, "n_vps must be 1 to 2048, not 0"),
    (JobLocator, LOCATOR | {"n_vps": 2049}, "n_vps must be 1 to 2048, not 2049"),
    (JobLocator, LOCATOR | {"vc": 2}, "vc must be 0 or 1, not 2"),
    (ReceiveRouter, ROUTER | {"n_cous": 0}, "n_cous must be 1 to 16, not 0"),
    (ReceiveRouter, ROUTER | {"n_cous": 17}, "n_cous must be 1 to 16, not 17"),
    (ReceiveRouter, ROUTER | {"p2p": False}, "get must be False without a point-to-point path, not True"),
    (ReceiveRouter, ROUTER | {"vc": 2}, "vc must be 0 or 1, not 2"),
    (UnitFigures, {"n_cous": 0, "level_bits": 8}, "n_cous must be 1 to 16, not 0"),
    (UnitFigures, {"n_cous": 17, "level_bits": 8}, "n_cous must be 1 to 16, not 17"),
])
def test_parameters_are_checked(part: Callable[..., Component], parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        part(**parameters)
