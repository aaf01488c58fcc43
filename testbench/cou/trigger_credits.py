"""The credit table and the peers around the trigger: who gets a credit, when it comes back, and who sleeps on."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random

from testbench.cou.trigger_model import Pulse

CALL = 40
"""Cycles within which a context that is called asks."""
PATIENCE = 250
"""Cycles within which a context that was refused a credit asks again once there is one for it."""

Pair = tuple[int, int]
"""JobID and peer."""


class Credits:
    """Credits that are out, those that were granted and not used, and refusals.

    A request does not name its pulse. If only one can be meant, that one is known and has to ask again. Of several it
    is known how many sleep: until a credit of theirs returns or is granted, each refusal is that of another pulse.

    Parameters
    ----------
    rng : Random
        For what is left open.
    parted : callable
        Of a pulse: whether its last pass has gone.
    noted : callable
        Called with `ok` and `oldest` of each request.
    """

    def __init__(self, rng: Random, parted: Callable[[Pulse], bool], noted: Callable[..., None]):
        self.rng = rng
        self.parted = parted
        self.noted = noted
        self.out: Counter[Pair] = Counter()
        self.granted: Counter[tuple[int, ...]] = Counter()
        self.returns: deque[Pair] = deque()
        self._known: dict[int, tuple[Pulse, int]] = {}
        """By context: a pulse that was refused, and since when there has been a credit for it."""
        self._asleep: Counter[Pair] = Counter()
        """At least as many pulses sleep."""
        self._in_turn: Counter[Pair] = Counter()
        """Refusals since the last event that wakes a pulse, not counting those that it may have called for."""
        self._woken: dict[Pair, int] = {}
        self._quiet_since: dict[Pair, int] = {}

    @staticmethod
    def share(pair: Pair) -> int:
        """Credits of a job and peer: two or three, the last one for the oldest pulse. With three, two pulses can go
        when a packet brings several."""
        return 2 + pair[1] % 2

    def places(self) -> set[Pair]:
        """Pairs with credits that were granted and not used."""
        return {credit[:2] for credit, count in self.granted.items() if count}

    def ask(self, pair: Pair, *, oldest: int, asking: Sequence[Pulse], now: int) -> dict[str, int]:
        """The answer to a request of one of the pulses `asking`; `oldest`: it claims the last credit."""
        ok = self.out[pair] < self.share(pair) - (not oldest)
        self.noted(ok=int(ok), oldest=oldest)
        for pulse in asking:
            self._known.pop(pulse.context, None)
        self._quiet_since[pair] = now
        answer = {name: self.rng.randrange(2) for name in ("window_slot", "loan", "want")}
        if ok:
            self.out[pair] += 1
            self.granted[(*pair, *answer.values())] += 1
            self._asleep[pair] = max(0, self._asleep[pair] - 1)
            self._wake(pair, now)
        else:
            if len(asking) == 1:
                self._known[asking[0].context] = asking[0], now
            # The oldest asks again when it becomes the oldest, too: it may have been counted.
            if asking[0].operation.expired:
                return {"ok": 0, **answer}
            self._in_turn[pair] += not oldest and now - self._woken.get(pair, 0) > CALL
            self._asleep[pair] = min(max(self._asleep[pair], self._in_turn[pair]), len(asking))
        return {"ok": int(ok), **answer}

    def use(self, pair: Pair, *, window_slot: int, loan: int, want: int) -> None:
        """A packet has been sent."""
        credit = (*pair, window_slot, loan, want)
        assert self.granted[credit], "sent without a credit"
        self.granted[credit] -= 1

    def come_back(self, now: int) -> int | None:
        """A packet with credits, if one comes in this cycle: its peer."""
        if not self.returns:
            return None
        pair = self.returns.popleft()
        self.out[pair] -= 1
        while pair in self.returns and self.rng.randrange(4):
            self.returns.remove(pair)
            self.out[pair] -= 1
        self._wake(pair, now)
        self._quiet_since[pair] = now
        return pair[1]

    def _wake(self, pair: Pair, now: int) -> None:
        """Whoever was refused a credit of this peer is called, of whatever job."""
        for called in {pair, *(other for other in self._in_turn if other[1] == pair[1])}:
            self._in_turn[called], self._woken[called] = 0, now

    def forget(self, job_id: int) -> None:
        """The operation of this job is given up: its pulses ask no more."""
        for pair in self._asleep:
            if pair[0] == job_id:
                self._asleep[pair] = self._in_turn[pair] = 0

    def check(self, pulses: Sequence[Pulse], now: int) -> None:
        """Nobody who was refused a credit sleeps on once there is one for it."""
        for context, (pulse, since) in list(self._known.items()):
            operation = pulse.operation
            if not any(other is pulse for other in pulses) or pulse.running or pulse.ended or operation.expired:
                del self._known[context]
                continue
            oldest = next(p for p in operation.pulses if p is pulse or not self.parted(p)) is pulse
            pair = operation.job_id, pulse.desc["peer"]
            if self.out[pair] >= self.share(pair) - (not oldest):
                self._known[context] = pulse, now
            assert now - since <= PATIENCE, "a credit has come back, or it is the oldest now: not woken"
        for pair, count in self._asleep.items():
            if not count or self.out[pair] >= self.share(pair) - 1:
                self._quiet_since[pair] = now
            assert now - self._quiet_since[pair] <= PATIENCE, f"of {count} that sleep none is woken for {pair}"
