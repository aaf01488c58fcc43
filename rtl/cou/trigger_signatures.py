"""Seams of the trigger: with the operations in progress, the packets in the buffer, operands, credits and passes."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.cou.context_signatures import (
    LoaderSignature,
    OperationViewSignature,
    event,
    returned_layout,
)
from rtl.cou.shapes import CouShapes
from rtl.credit.credit_signatures import CreditRequestSignature


class OperationsSignature(wiring.Signature):
    """Operations in progress, seen from the trigger, which has their pulses.

    Members
    -------
    view : ``Out(OperationViewSignature)``
        Look-up of one of them.
    expire : ``In(n_jobs)``
        Operations that a time-out ends; one stays until no pulse of it is left and none is offered.
    active, n_free : ``Out``
        Operations that have contexts; contexts that are free.
    progress : ``Out(n_jobs)``
        Operations that make progress in this cycle.
    write_started : ``Out(event({job}))``
        A write of a result to host memory begins.
    """

    def __init__(self, shapes: CouShapes, *, n_contexts: int, n_jobs: int):
        super().__init__({
            "view": Out(OperationViewSignature(shapes)), "expire": In(n_jobs), "active": Out(n_jobs),
            "n_free": Out(range(n_contexts + 1)), "progress": Out(n_jobs),
            "write_started": Out(event(data.StructLayout({"job": shapes.job}))),
        })


class OperandsSignature(wiring.Signature):
    """Operands of contexts, seen from the trigger.

    Members
    -------
    load : ``Out(LoaderSignature)``
        Operands to be loaded.
    loaded : ``In(stream.Signature({context}))``
        The operand of this context is there.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({"load": Out(LoaderSignature(shapes)), "loaded": In(stream.Signature(shapes.loaded))})


class CreditsSignature(wiring.Signature):
    """Credits of peers, seen from the trigger.

    Members
    -------
    ask : ``Out(CreditRequestSignature)``
        Requests.
    returned : ``In(event({peer}))``
        Some have returned: a request that was refused may succeed now.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "ask": Out(CreditRequestSignature(shapes.formats)), "returned": In(event(returned_layout(shapes))),
        })


class PassesSignature(wiring.Signature):
    """Passes over the data of a context, seen from the trigger. A context has one at most.

    Members
    -------
    run, send : ``Out(stream.Signature(run))``, ``Out(stream.Signature(send))``
        Passes that combine or write, and those that only send.
    done : ``In(stream.Signature({context}))``
        A pass has ended.
    """

    def __init__(self, shapes: CouShapes):
        super().__init__({
            "run": Out(stream.Signature(shapes.run)), "send": Out(stream.Signature(shapes.send)),
            "done": In(stream.Signature(shapes.done)),
        })
