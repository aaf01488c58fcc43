"""Script of faults, as a YAML file gives them: shares of the traffic, and events at nodes and cycles.

Cycles count from the first doorbell. ``docs/faults.md`` has the fields.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from firmware_models.files import FileError, parse_yaml, read_text, shown

_MOST_BYTES = 1 << 20
_MOST_CYCLES = 1 << 40

Share = Annotated[float, Field(ge=0, le=0.5)]
Cycle = Annotated[int, Field(ge=0, le=_MOST_CYCLES)]
Cycles = Annotated[int, Field(ge=1, le=_MOST_CYCLES)]
Node = Annotated[int, Field(ge=0)]


class FaultScriptError(ValueError):
    """A script of faults that cannot be carried out; one line."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Links(_Strict):
    """Shares of the words (`flipped`), or of the frames, on all links that are damaged."""

    flipped: Share = 0.0
    lost: Share = 0.0
    doubled: Share = 0.0
    delayed: Share = 0.0
    delay: Cycles = 200


class Memory(_Strict):
    """Shares of the bursts of all NICs that are answered with an error."""

    reads: Share = 0.0
    writes: Share = 0.0
    response: Literal["SLVERR", "DECERR"] = "SLVERR"


class LinkDown(_Strict):
    """Nothing comes through the cable of a node, for some cycles or for good."""

    kind: Literal["link_down"]
    node: Node
    at: Cycle = 0
    cycles: Cycles | None = None


class Stop(_Strict):
    """A node with its NIC stops for good."""

    kind: Literal["stop"]
    node: Node
    at: Cycle = 0


class Absent(_Strict):
    """The process of job 0 at a node never rings its doorbell; its NIC works on."""

    kind: Literal["absent"]
    node: Node


class Disagrees(_Strict):
    """The process of job 0 at a node posts another operation than the others: what is given here is not as theirs."""

    kind: Literal["disagrees"]
    node: Node
    algorithm: str | None = None
    root: Annotated[int, Field(ge=0)] | None = None
    size: Annotated[int, Field(ge=1, le=1 << 30)] | None = None
    dtype: str | None = None
    op: str | None = None

    @property
    def terms(self) -> dict[str, Any]:
        """Fields of its request that differ."""
        return self.model_dump(exclude={"kind", "node"}, exclude_none=True)


class SlowHost(_Strict):
    """The memory of a host answers `extra` cycles later."""

    kind: Literal["slow_host"]
    node: Node
    at: Cycle = 0
    cycles: Cycles
    extra: Cycles


class FailedAccess(_Strict):
    """The next `count` reads, or writes, of a NIC are answered with an error."""

    kind: Literal["read_error", "write_error"]
    node: Node
    at: Cycle = 0
    count: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    response: Literal["SLVERR", "DECERR"] = "SLVERR"


class FullCompletions(_Strict):
    """The completion ring of job 0 at a node is full, and its host reads nothing for some cycles."""

    kind: Literal["full_completions"]
    node: Node
    cycles: Cycles


class BitFlip(_Strict):
    """The next write of a memory of a packet buffer has wrong bits, with `cou.ecc` on."""

    kind: Literal["bit_flip"]
    node: Node
    at: Cycle = 0
    memory: Literal["tag", "header", "payload"]
    bits: Annotated[int, Field(ge=1, le=2)] = 1
    first_bit: Annotated[int, Field(ge=0, le=255)] = 3
    cou: Annotated[int, Field(ge=0)] = 0


Event = Annotated[
    LinkDown | Stop | Absent | Disagrees | SlowHost | FailedAccess | FullCompletions | BitFlip,
    Field(discriminator="kind"),
]


class FaultScript(_Strict):
    """All that is to go wrong in a run.

    Members
    -------
    watchdog : int
        Cycles without progress after which NICs end an operation.
    links, memory : Links, Memory
        Shares of what passes.
    events : list
        What happens once, at a node.
    """

    watchdog: Annotated[int, Field(ge=100, le=1 << 31)] = 20_000
    links: Links = Links()
    memory: Memory = Memory()
    events: Annotated[list[Event], Field(max_length=1000)] = []

    @property
    def needs_reliable_links(self) -> bool:
        """True if wires lose anything."""
        shares = (self.links.flipped, self.links.lost, self.links.doubled, self.links.delayed)
        return any(shares) or any(isinstance(event, LinkDown | Stop) for event in self.events)

    @property
    def needs_ecc(self) -> bool:
        """True if bits of packet buffers change."""
        return any(isinstance(event, BitFlip) for event in self.events)

    def check(self, *, nodes: int, cous: int) -> None:
        """Raises :class:`FaultScriptError` if an event is at a node or an offload unit that there is not."""
        for number, event in enumerate(self.events):
            if event.node >= nodes:
                raise FaultScriptError(f"events.{number}.node must be 0 to {nodes - 1}, not {event.node}")
            if isinstance(event, Disagrees) and not event.terms:
                raise FaultScriptError(
                    f"events.{number} must have one of algorithm, root, size, dtype and op, not none of them"
                )
            if isinstance(event, BitFlip) and event.cou >= cous:
                raise FaultScriptError(f"events.{number}.cou must be 0 to {cous - 1}, not {event.cou}")


def parse_faults(text: str) -> FaultScript:
    """The script that YAML text holds. Raises :class:`FaultScriptError`, which names the field and what is allowed."""
    try:
        content = parse_yaml(text)
    except FileError as error:
        raise FaultScriptError(str(error)) from None
    try:
        return FaultScript.model_validate({} if content is None else content)
    except ValidationError as error:
        raise FaultScriptError("; ".join(_refusal(found) for found in error.errors()[:3])) from None


def load_faults(path: Path) -> FaultScript:
    """The script in a file. Raises :class:`FaultScriptError`."""
    try:
        return parse_faults(read_text(path, most_bytes=_MOST_BYTES))
    except (FileError, FaultScriptError) as error:
        raise FaultScriptError(f"{shown(path)}: {error}") from None


def _refusal(error: Any) -> str:
    """One fault of a script: its field, what is allowed, what stands there."""
    kinds = {
        "link_down", "stop", "absent", "disagrees", "slow_host", "read_error", "write_error", "full_completions",
        "bit_flip",
    }
    # The kind of an event stands in pydantic's path, but not in the file.
    path = ".".join(str(part) for part in error["loc"] if part not in kinds) or "the file"
    match error["type"]:
        case "extra_forbidden":
            return f"{path}: no such field (got {shown(error['input'])})"
        case "missing":
            return f"{path}: is required"
        case "union_tag_invalid" | "union_tag_not_found":
            found = error["input"].get("kind") if isinstance(error["input"], dict) else error["input"]
            return f"{path}.kind must be one of {', '.join(sorted(kinds))}, not {shown(found)}"
        case _:
            allowed = error["msg"].removeprefix("Input should be ")
            return f"{path} must be {allowed}, not {shown(error['input'])}"
