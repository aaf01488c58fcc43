"""Operations and their pulses, as the bench of the operation table follows them."""

from dataclasses import dataclass, field

from firmware_models.abi.encoding import Status


@dataclass
class Context:
    """A pulse in a context of the trigger: cycles that it still takes, and its writes that have not begun."""

    job: int
    left: int
    writes: int
    hangs: bool


@dataclass
class Running:
    """An operation, and what is known of it."""

    bits: int
    fields: dict[str, int]
    share: int
    """Bytes of a block."""
    since: int
    n_sound: int
    """Pulses that do not hang."""
    n_taken: int = 0
    writes: list[int] = field(default_factory=list)
    """Cycles in which its writes end."""
    errors: list[tuple[int, Status, int]] = field(default_factory=list)
    expired_at: int | None = None
    closed_at: int | None = None
    progress_at: int = 0
    idle: list[int] = field(default_factory=list)
    """Cycles without progress, in each of the last few cycles."""
    ended: bool = False

    @property
    def pulses(self) -> int:
        """How many pulses there are."""
        return max(1, -(-self.share // self.fields["pulse_bytes"]))

    def outcomes(self, now: int) -> list[tuple[Status, int]]:
        """The first error, or those that came in the same cycle. An operation may end in the cycle in which its job is
        closed, or its watchdog runs out."""
        first = min((cycle for cycle, _, _ in self.errors), default=now)
        ends = all(status in (Status.TIMEOUT, Status.JOB_CLOSED) for _, status, _ in self.errors)
        outcomes = [(Status.OK, 0)] if ends and first >= now - 1 else []
        for _, status, _ in (error for error in self.errors if error[0] == first):
            # A later report of the same error may bring the detail.
            details = [detail for _, other, detail in self.errors if other is status and detail]
            outcomes.append((status, details[0] if details else 0))
        return outcomes
