"""The claim that nothing follows a payload while its `valid` is low, shown from any state.

So whoever drives a stream may leave anything in the payload between two items.
"""

from collections.abc import Iterator

from testbench.formal.unseen.gates import FALSE, TRUE, Gates
from testbench.formal.unseen.netlist import Bit, Netlist
from testbench.formal.unseen.solver import GateSolver


def faults_of_unseen(netlist: Netlist, stream: str) -> list[str]:
    """Lists, in words, the nets that follow the payload of a stream that is not valid; nothing if the claim holds.

    Two cycles begin in the same state, any one, with the same inputs but for the payload. Memories give the same words
    at the same addresses: what a read gets of a write in the same cycle is the same if the writes are, which is asked.

    Parameters
    ----------
    netlist : Netlist
        The design.
    stream : str
        What the names of its inputs begin with: ``STREAM_valid``, ``STREAM_payload`` and ``STREAM_payload_FIELD``.

    Raises
    ------
    ValueError
        If these are no inputs.
    """
    valid, head = f"{stream}_valid", f"{stream}_payload"
    payload = [name for name in netlist.inputs if f"{name}_".startswith(f"{head}_")]
    if not payload or valid not in netlist.inputs:
        raise ValueError(f"stream must have a payload and a valid among the inputs, not {stream!r}")
    gates = Gates()
    solver, answers = GateSolver(gates), _Answers(gates)
    shared: dict[Bit, int] = {bit: gates.free()[0] for bit in netlist.registers}
    for name, bits in netlist.inputs.items():
        if name not in payload:
            shared |= {bit: FALSE if name == valid else gates.free()[0] for bit in bits}
    memories = {memory.name for memory in netlist.memories}
    cycles = [
        netlist.evaluator(
            gates, shared | {bit: gates.free()[0] for name in payload for bit in netlist.inputs[name]}, answers.recall,
            memories,
        )
        for _ in range(2)
    ]

    def follow(bits: list[Bit], enabled: int) -> bool:
        """True if one of these nets may differ where `enabled`."""
        differs = gates.any_of([gates.differ(*(cycle[bit] for cycle in cycles)) for bit in bits])
        return differs != FALSE and solver.possible(differs, enabled)

    faults = [
        f"{name} follows {stream}" for name, bits in _looked_at(netlist) if follow(bits, TRUE)
    ]
    for memory in netlist.memories:
        if follow(memory.write_enable, TRUE):
            faults.append(f"a write to {memory.name} follows {stream}")
        for enable, bits in memory.writes():
            if follow(bits, cycles[0][enable]):
                faults.append(f"what is written to {memory.name} follows {stream}")
                break
    return faults


def _looked_at(netlist: Netlist) -> Iterator[tuple[str, list[Bit]]]:
    """Outputs, and what registers get."""
    for name, bits in netlist.outputs.items():
        yield f"output {name}", bits
    groups: dict[str, list[Bit]] = {}
    for bit, after in netlist.registers.items():
        groups.setdefault(netlist.names[bit].rsplit("[", 1)[0], []).append(after)
    yield from groups.items()


class _Answers:
    """Answers of memories, and of cells that are not looked into: the same to the same question."""

    def __init__(self, gates: Gates):
        self._gates = gates
        self._known: dict[tuple[object, ...], list[int]] = {}

    def recall(self, name: str, question: tuple[object, ...], width: int, *, is_memory: bool) -> list[int]:
        """The answer to `question`, `width` bits."""
        key = name, question, width, is_memory
        if key not in self._known:
            self._known[key] = self._gates.free(width)
        return self._known[key]
