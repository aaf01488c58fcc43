"""Units for the bench of the scheduler: each with what is wrong with it, as entries of a ring."""

import random
from collections.abc import Iterator

from firmware_models.abi import formats
from firmware_models.abi.encoding import P2pOp, Status
from testbench.coverage import dealt
from testbench.queue.scheduler_model import Entry, Fields

_checked = (Status.BAD_DESCRIPTOR, Status.UNSUPPORTED, Status.BAD_LENGTH, Status.BAD_ADDRESS)
_differing = ("job_id", "length", "pulse_bytes", "block_count", "cp_count")


class UnitDealer:
    """Deals units of one VP, every kind of them before any comes again; the tags of all descriptors differ.

    Parameters
    ----------
    vp : int
        The VP.
    depth : int
        Descriptors of the longest sequence.
    numbers : random.Random
        Where the randomness comes from.
    """

    def __init__(self, vp: int, depth: int, numbers: random.Random):
        self.depth, self.rng = depth, numbers
        self._tag = vp << 20
        kinds = [("p2p", op, what) for op in P2pOp for what in ("right", "right", "status", "error")]
        kinds += [("sequence", steps, "right") for steps in (1, 2, *3 * (depth - 1, depth), depth + 1)]
        kinds += [("sequence", depth, what) for what in (*_differing, "ch", "not c", "no end", "no head")]
        kinds += [("sequence", depth, f"{what} {where}") for what in ("status", "error")
                  for where in ("first", "within", "last")]
        kinds += [("sequence", 2 * depth + 2 + more, "error first") for more in (-1, 0, 1)]
        self._kinds: Iterator[tuple[str, int, str]] = dealt(numbers, kinds)
        self._status = dealt(numbers, _checked)

    def deal(self) -> list[Entry]:
        """The next unit."""
        kind, number, what = next(self._kinds)
        return self._p2p(number, what) if kind == "p2p" else self._sequence(number, what)

    def _desc(self, **fields: int) -> Fields:
        """A descriptor with anything in all other fields; its payload does not pass the scheduler."""
        self._tag += 1
        desc = formats.DESCRIPTOR.from_int(self.rng.getrandbits(8 * formats.DESCRIPTOR.bytes))
        del desc["payload"]
        return desc | {"tag": self._tag} | fields

    def _p2p(self, op: int, what: str) -> list[Entry]:
        entry = Entry(self._desc(c=0, p2p_op=op))
        if what == "status":
            entry.status = next(self._status)
        entry.error = what == "error"
        return [entry]

    def _sequence(self, steps: int, what: str) -> list[Entry]:
        common = {name: self.rng.randrange(1, 40) for name in ("job_id", "length", "pulse_bytes")}
        blocks, count = self.rng.choice((1, 1, 2, 5)), self.rng.randrange(1, 3)
        entries = []
        for place in range(steps):
            count += self.rng.choice((0, 0, 1, 3))
            entries.append(Entry(self._desc(
                c=1, ch=int(place == 0), ct=int(place == steps - 1), cp_count=count,
                block_count=self.rng.randrange(2) if blocks == 1 else blocks, **common,
            )))
        at = self.rng.randrange(1, steps) if steps > 1 else 0
        desc, before = entries[at].desc, entries[at - 1].desc
        match what.split():
            case ["cp_count"]:
                desc["cp_count"] = before["cp_count"] - 1
            case ["block_count"]:
                desc["block_count"] = blocks + 1
            case ["job_id" | "length" | "pulse_bytes" as name]:
                desc[name] += self.rng.choice((-1, 1))
            case ["ch"]:
                desc["ch"] = 1
            case ["not", "c"]:
                desc |= {"c": 0, "p2p_op": self.rng.choice(list(P2pOp))}
            case ["no", "end"]:
                entries[-1].desc["ct"] = 0
            case ["no", "head"]:
                entries[0].desc["ch"] = 0
            case ["status" | "error" as fault, where]:
                entry = entries[{"first": 0, "within": max(0, steps - 2), "last": steps - 1}[where]]
                if fault == "error":
                    entry.error = True
                else:
                    entry.status = next(self._status)
        return entries
