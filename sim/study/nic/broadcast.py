"""The NIC paper's broadcast: see :mod:`sim.study.nic.report`."""

from functools import partial

from sim.study.nic.claims import claims as _claims
from sim.study.nic.points import EXPERIMENTS
from sim.study.nic.report import run as _run

run = partial(_run, "nic-broadcast")
claims = partial(_claims, EXPERIMENTS["nic-broadcast"])
