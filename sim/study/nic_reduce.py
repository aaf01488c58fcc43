"""The NIC paper's reduce: see :mod:`sim.study.nic_report`."""

from functools import partial

from sim.study.nic_report import run as _run

run = partial(_run, "nic-reduce")
