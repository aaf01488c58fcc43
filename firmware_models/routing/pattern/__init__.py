"""Communication patterns: which groups an application makes."""

from firmware_models.routing.pattern.parse import PATTERNS, parse_pattern

__all__ = ["PATTERNS", "parse_pattern"]
