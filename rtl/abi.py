"""Amaranth layouts of the shared formats."""

from amaranth import unsigned
from amaranth.lib import data

from firmware_models.abi import formats
from firmware_models.abi.format import Format


def layout(fmt: Format) -> data.StructLayout:
    """The layout whose bits are those of `fmt`; reserved runs keep their names."""
    return data.StructLayout({field.name: unsigned(field.width) for field in fmt.fields})


Descriptor = layout(formats.DESCRIPTOR)
PacketHeader = layout(formats.PACKET_HEADER)
Completion = layout(formats.COMPLETION)
Receive = layout(formats.RECEIVE)
HashKey = layout(formats.HASH_KEY)

DescriptorControl = data.StructLayout(
    {field.name: unsigned(field.width) for field in formats.DESCRIPTOR.fields if field.name != "payload"}
)
"""A descriptor without its payload, which is its last field."""
