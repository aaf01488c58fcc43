"""Multicast routing algorithms: MR4LMS as published and improved, and what OpenSM does."""

from firmware_models.routing.algorithm.check import violations
from firmware_models.routing.algorithm.measure import figures, measure, per_colour, prepare
from firmware_models.routing.algorithm.merge import OldTrees, Partner
from firmware_models.routing.algorithm.plane_router import RoutedPlanes, route_planes
from firmware_models.routing.algorithm.registrar import Registrar
from firmware_models.routing.algorithm.router import ALGORITHMS, POLICIES, Options, Router
from firmware_models.routing.algorithm.saved import load_router, save_router

__all__ = [
    "ALGORITHMS", "POLICIES", "OldTrees", "Options", "Partner", "Registrar", "RoutedPlanes", "Router", "figures",
    "load_router", "measure", "per_colour", "prepare", "route_planes", "save_router", "violations",
]
