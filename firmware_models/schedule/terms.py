"""Terms in which all participants of an operation have to agree."""

import binascii
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from firmware_models.abi.encoding import Datatype, Operator

from .sequence import Combine, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of an operation. Ranks that post other ones carry out another operation: nothing right can come of it.

    Members
    -------
    collective, algorithm : str
        Names in the registry.
    n_nodes, root : int
        Ranks, and which of them is the root; 0 where there is none.
    length, pulse_bytes : int
        Bytes of the message, and of a pulse of each block.
    datatype : str
        Of the elements.
    operator : str
        Of the reduction; empty where nothing is reduced.
    """

    collective: str
    algorithm: str
    n_nodes: int
    root: int
    length: int
    pulse_bytes: int
    datatype: str
    operator: str

    @classmethod
    def of(
        cls, schedule: Schedule, *, length: int, pulse_bytes: int, datatype: Datatype, operator: Operator,
    ) -> "Terms":
        """Those of a schedule that is carried out for a message."""
        reduces = any(step.combine is Combine.REDUCE for sequence in schedule.sequences for step in sequence)
        return cls(
            collective=schedule.collective, algorithm=schedule.algorithm, n_nodes=schedule.n_nodes,
            root=schedule.root, length=length, pulse_bytes=pulse_bytes, datatype=Datatype(datatype).name.lower(),
            operator=Operator(operator).name.lower() if reduces else "",
        )

    @property
    def checksum(self) -> int:
        """Of 16 bits and never 0, which hardware does not compare: CRC-16-CCITT of the terms, in order."""
        text = " ".join(str(value) for value in asdict(self).values())
        return binascii.crc_hqx(text.encode(), 0xFFFF) or 0xFFFF

    def differences(self, other: "Terms") -> Iterator[tuple[str, str | int, str | int]]:
        """Name, value here and value there of each term that is not the same."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                yield field.name, mine, theirs
