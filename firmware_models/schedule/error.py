"""The error of this package."""


class ScheduleError(ValueError):
    """A schedule that cannot be made or compiled; one line: field, what is allowed, value."""


def require(allowed: bool, field: str, what: str, value: object) -> None:
    """Raises :class:`ScheduleError` with "`field` must be `what`, not `value`" unless `allowed`."""
    if not allowed:
        raise ScheduleError(f"{field} must be {what}, not {value!r}")
