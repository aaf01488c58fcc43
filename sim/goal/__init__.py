"""GOAL schedules (LogGOPSim, ATLAHS) as a workload: hosts carry them out over simulated NICs."""

from .plan import GoalError, Plan, load_plan
from .run import GoalRequest, GoalResult, run_goal

__all__ = ["GoalError", "GoalRequest", "GoalResult", "Plan", "load_plan", "run_goal"]
