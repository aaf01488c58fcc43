"""Multicast routing algorithms: MR4LMS as published and improved, and what OpenSM does."""

from firmware_models.routing.algorithm.check import violations
from firmware_models.routing.algorithm.registrar import Registrar
from firmware_models.routing.algorithm.router import ALGORITHMS, POLICIES, Options, Router
from firmware_models.routing.algorithm.saved import load_router, save_router

__all__ = ["ALGORITHMS", "POLICIES", "Options", "Registrar", "Router", "load_router", "save_router", "violations"]
