"""Passes of the reduce lane, as its bench asks for them."""

from typing import Any

from firmware_models.abi.encoding import Datatype, Operator
from rtl.abi import HashKey
from rtl.cou.shapes import Select, Source
from rtl.credit.layouts import credit_notice
from testbench.packet import Packet


def pass_of_zeros(context: int, header: dict[str, int] | None, size: int) -> dict[str, Any]:
    """One that sends so many zeros with this header, or keeps them."""
    return {
        "a": Source.ZERO.value, "select": Select.PASS_A.value, "use_packet": 0, "operator": int(Operator.SUM),
        "datatype": int(Datatype.INT64), "consume": 0, "packet": 0, "key": _zeros(HashKey),
        "credit": _zeros(credit_notice()), "output": {
            "context": context, "position": 0, "bytes": size, "send": int(header is not None),
            "header": header or dict(Packet.make().header), "job": 0, "write_back": 0, "result_addr": 0,
            "pieces": {"count": 1, "bytes": size, "last_bytes": 0, "stride": 0},
        },
    }


def _zeros(layout: Any) -> dict[str, int]:
    return {name: 0 for name, _ in layout}
