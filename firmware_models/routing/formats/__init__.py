"""Formats of the field: fabrics, groups and forwarding tables as the tools of InfiniBand write them."""

from firmware_models.routing.formats.fabric_read import read_network
from firmware_models.routing.formats.fabric_write import ibnetdiscover_text, net_text
from firmware_models.routing.formats.groups_read import read_groups
from firmware_models.routing.formats.sa_dump import sa_dump_text
from firmware_models.routing.formats.tables_read import read_tables
from firmware_models.routing.formats.tables_write import mcfdbs_text

__all__ = [
    "ibnetdiscover_text", "mcfdbs_text", "net_text", "read_groups", "read_network", "read_tables", "sa_dump_text",
]
