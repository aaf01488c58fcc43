"""Amaranth layouts of the shared formats and of registers."""

from amaranth import Cat, Const, Value, ValueLike, unsigned
from amaranth.lib import data

from firmware_models.abi import formats
from firmware_models.abi.format import Format
from firmware_models.abi.register import Register


def layout(fmt: Format) -> data.StructLayout:
    """The layout whose bits are those of `fmt`; reserved runs keep their names."""
    return data.StructLayout({field.name: unsigned(field.width) for field in fmt.fields})


def register_layout(register: Register) -> data.StructLayout:
    """The layout of a register's fields, up to its highest bit; reserved runs are named so."""
    return layout(register.format)


def fields(register: Register, word: ValueLike) -> data.View:
    """The fields of a 32-bit word that is read from `register` or written to it."""
    return data.View(register_layout(register), Value.cast(word)[:register.width])


def word(register: Register, **values: ValueLike) -> Value:
    """The word that `register` shows if its fields have these values, which must be as wide as the fields."""
    parts = []
    for field in register.format.fields:
        value = Const(0, field.width) if field.is_reserved else Value.cast(values.pop(field.name))
        if len(value) != field.width:
            raise ValueError(f"{register.name}.{field.name} must have {field.width} bits, not {len(value)}")
        parts.append(value)
    if values:
        raise ValueError(f"{register.name} has no field {next(iter(values))!r}")
    return Cat(parts)


Descriptor = layout(formats.DESCRIPTOR)
PacketHeader = layout(formats.PACKET_HEADER)
P2pRange = layout(formats.P2P_RANGE)
Completion = layout(formats.COMPLETION)
Receive = layout(formats.RECEIVE)
HashKey = layout(formats.HASH_KEY)



def control_layout(descriptor: Format) -> data.StructLayout:
    """A descriptor without its payload, which is its last field."""
    return data.StructLayout({
        field.name: unsigned(field.width) for field in descriptor.fields if field.name != "payload"
    })


DescriptorControl = control_layout(formats.DESCRIPTOR)
"""The control of a descriptor in memory."""
