"""Communication patterns: which groups an application makes."""

from firmware_models.routing.pattern.parse import ORDERS, PATTERNS, parse_pattern

__all__ = ["ORDERS", "PATTERNS", "parse_pattern"]
