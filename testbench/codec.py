"""Values of Amaranth shapes as plain Python values, and back."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import data


def encode(shape: ShapeLike, value: Any) -> int:
    """The bits of `value`, an unsigned integer.

    A structure is given as a mapping (fields left out are 0), an array as a sequence, anything else as an integer.
    An integer is taken as the bits whatever the shape.

    Raises
    ------
    ValueError
        If a value does not fit.
    KeyError
        If a structure has no field of a name given.
    """
    width = Shape.cast(shape).width
    if isinstance(value, int):
        if not -(1 << width) < value < 1 << width:
            raise ValueError(f"value must fit {width} bits, not {value!r}")
        return value & ((1 << width) - 1)
    assert isinstance(shape, data.Layout)
    items = value.items() if hasattr(value, "items") else enumerate(value)
    bits = 0
    for key, item in items:
        part = shape[key]
        bits |= encode(part.shape, item) << part.offset
    return bits


def decoder(shape: ShapeLike) -> Callable[[int], Any]:
    """A function that turns bits into a value as :func:`encode` takes it: dicts, lists and integers."""
    if isinstance(shape, data.StructLayout):
        fields = [(name, part.offset, (1 << part.width) - 1, decoder(part.shape)) for name, part in shape]
        return lambda bits: {name: inner(bits >> offset & mask) for name, offset, mask, inner in fields}
    if isinstance(shape, data.ArrayLayout):
        parts = [(part.offset, (1 << part.width) - 1, decoder(part.shape)) for _, part in shape]
        return lambda bits: [inner(bits >> offset & mask) for offset, mask, inner in parts]
    cast = Shape.cast(shape)
    if cast.signed and cast.width:
        half, full = 1 << (cast.width - 1), 1 << cast.width
        return lambda bits: bits - full if bits & half else bits
    return lambda bits: bits


def decode(shape: ShapeLike, bits: int) -> Any:
    """The value that `bits` stand for; see :func:`decoder`, which is faster for many."""
    return decoder(shape)(bits)
