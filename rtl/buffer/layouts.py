"""What the packet buffer and its users say to each other."""

from amaranth.lib import data

from firmware_models.abi import formats
from firmware_models.config import Config
from rtl.abi import HashKey
from rtl.kit.index import index_bits

Gone = data.StructLayout({"job_id": formats.JOB_BITS, "count": 2})
"""A packet has left the packet buffer, worth so many reports to the job table:
:class:`~rtl.credit.lender.Lender` says how many."""


def free_layout(config: Config) -> data.StructLayout:
    """A packet that is done with, and how many reports it is worth."""
    return data.StructLayout({"key": HashKey, "slot": index_bits(config.buffer_slots), "gone": 2})
