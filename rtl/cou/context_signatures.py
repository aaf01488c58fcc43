"""Seams of the contexts: between the stages of the trigger, the context file, and what wakes contexts up.

An event is a stream without `ready`: it holds for the cycle in which it is valid, and is always taken.
"""

from amaranth import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.phase import Phase
from rtl.cou.shapes import CouShapes
from rtl.interface import STATUS_BITS


def event(shape: ShapeLike) -> wiring.Signature:
    """Signature of an event with this payload: `valid` and `payload`, seen from whoever has something to say."""
    return wiring.Signature({"valid": Out(1), "payload": Out(shape)})


def look_layout(shapes: CouShapes) -> data.StructLayout:
    """Registers of a context, as the plan stage reads them."""
    return data.StructLayout({
        "job": shapes.job, "position": shapes.position, "packet_there": 1, "sure": 1, "packet": shapes.packet,
        "loaded": 1, "measured": 1,
    })


def context_start_layout(shapes: CouShapes) -> data.StructLayout:
    """Event: a free context is made the youngest of `job`, with phase READY, or TAKEN if it is `taken` at once; `cut`:
    its slice has to be measured.
    """
    return data.StructLayout({"context": shapes.context, "job": shapes.job, "cut": 1, "taken": 1})


def context_answer_layout(shapes: CouShapes) -> data.StructLayout:
    """Event: the look-up of a context is answered; a `hit` comes with the packet's slot."""
    return data.StructLayout({"context": shapes.context, "hit": 1, "packet": shapes.packet})


def context_layout(shapes: CouShapes) -> data.StructLayout:
    """Event about a context."""
    return data.StructLayout({"context": shapes.context})


def returned_layout(shapes: CouShapes) -> data.StructLayout:
    """Event: a credit has returned from `peer`."""
    return data.StructLayout({"peer": shapes.formats.peer_bits})


class DoneSignature(wiring.Signature):
    """Passes that have ended, seen from whoever says so; one a cycle.

    Members
    -------
    valid, context : ``Out``
        A pass of this context has ended.
    ends : ``In(1)``
        It was the last one of its sequence, whether one has ended or not.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({"valid": Out(1), "context": Out(shapes.context), "ends": In(1)})


class SelectionSignature(wiring.Signature):
    """Choice of the context that is planned for next, seen from the context file.

    Whoever chooses may take any context that is `ready` in the same cycle, and no other.

    Members
    -------
    ready : ``Out(n_contexts)``
        Contexts that can be taken. One that is just waking up is among them.
    first : ``Out(n_contexts)``
        Of these, the oldest one of each job.
    take, taken : ``In``
        This context is taken.
    """

    def __init__(self, shapes: CouShapes, n_contexts: int):
        super().__init__({
            "ready": Out(n_contexts), "first": Out(n_contexts), "take": In(1), "taken": In(shapes.context),
        })


class LookSignature(wiring.Signature):
    """Registers of a context, seen from whoever reads them: they follow `context` in the same cycle."""

    def __init__(self, shapes: CouShapes):
        super().__init__({"context": Out(shapes.context), "registers": In(look_layout(shapes))})


class StepSignature(wiring.Signature):
    """Next step of the selected context, seen from the stage that acts.

    `context` stands while a plan does, and for a cycle longer. `sleep` and `drop` exclude each other; `fire` comes with
    `sleep`.

    Members
    -------
    context : ``Out``
        The context that all others are about.
    sleep, next_phase : ``Out``
        It leaves the trigger, with this phase from now on.
    wait, key : ``Out``
        It waits for the packet with this key, and its look-up has been asked for.
    loads : ``Out(1)``
        Its operand is there, or will be before it is read.
    fire, advance, ends, cut, clears : ``Out``
        It is given a pass, which forgets the packet that it had a cycle later, in which `context`, `advance`, `cut` and
        `clears` stay; with `advance` its descriptor's last, with `ends` the sequence's. `cut`: the next slice has to be
        measured; `clears`: so has this one, once more.
    drop : ``Out(1)``
        A time-out ends it: it becomes free.
    oldest : ``In(1)``
        It is the oldest context of its job of those that may still send something.
    certain : ``In(1)``
        The packet that it was announced when it was taken is there.
    finish : ``In(1)``
        Some context becomes free.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "context": Out(shapes.context), "sleep": Out(1), "next_phase": Out(Phase), "wait": Out(1),
            "key": Out(shapes.key), "loads": Out(1), "fire": Out(1), "advance": Out(1), "ends": Out(1), "cut": Out(1),
            "clears": Out(1), "drop": Out(1), "oldest": In(1), "certain": In(1), "finish": In(1),
        })


class CreditWantSignature(wiring.Signature):
    """Credit that the selected context wants, seen from the stage that acts.

    Of the contexts of each job that are blocked for want of a credit of a peer, the oldest becomes ready two cycles
    after one of that peer has returned, or has been granted to another context.

    Members
    -------
    peer : ``Out``
        Whose credit it is.
    asks : ``Out(1)``
        An answer of the credit table is awaited.
    granted : ``Out(1)``
        Pulse: the context has got one.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({"peer": Out(shapes.formats.peer_bits), "asks": Out(1), "granted": Out(1)})


class OperationViewSignature(wiring.Signature):
    """Look-up in the operation table, seen from the stage that plans; all follows `job` in the same cycle.

    Members
    -------
    job : ``Out``
        Place of the job in this unit.
    operation, expired, status : ``In``
        Its operation; a time-out ends it; its status so far.
    fault_pending : ``In(1)``
        Errors are on their way to the table: what is sent now would not bear them.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "job": Out(shapes.job), "operation": In(shapes.operation), "expired": In(1), "status": In(STATUS_BITS),
            "fault_pending": In(1),
        })


class SequenceViewSignature(wiring.Signature):
    """Look-up in the sequence store, seen from the stage that plans.

    Members
    -------
    fetch, address : ``Out``
        The descriptor at `address` is wanted.
    control : ``In(DescriptorControl)``
        It comes a cycle later, and stays until the next `fetch`.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "fetch": Out(1), "address": Out(data.StructLayout({"position": shapes.position, "job": shapes.job})),
            "control": In(shapes.control),
        })


class WordsSignature(wiring.Signature):
    """Inline data of descriptors, seen from whoever reads them.

    Members
    -------
    address : ``Out``
        The word at this address is wanted.
    word : ``In(data_width)``
        It comes a cycle later.
    taken : ``Out(1)``
        The word that is there is used: it must have come with its descriptor.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({"address": Out(shapes.word_address), "word": In(shapes.data_width), "taken": Out(1)})


class StandstillSignature(wiring.Signature):
    """Order to stand still, seen from whoever gives it.

    Members
    -------
    hold : ``Out(1)``
        Nothing new is to be begun.
    held : ``In(1)``
        Nothing is under way, as long as `hold` stays: neither a look-up nor a header is wanted.
    """

    def __init__(self):
        super().__init__({"hold": Out(1), "held": In(1)})


class LoaderSignature(wiring.Signature):
    """Requests to the operand loader, seen from the stage that acts.

    Members
    -------
    request : ``Out(stream.Signature(load))``
        Operands to be loaded.
    idle : ``In(1)``
        The loader has nothing to do: it takes a request at once, and the operand is there before it is read.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({"request": Out(stream.Signature(shapes.load)), "idle": In(1)})
