"""Report of a study: rows in a file, claims, tables, its page."""

from .report import Report, check_parts, rows_of

__all__ = ["Report", "check_parts", "rows_of"]
