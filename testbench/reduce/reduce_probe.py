"""A reduce unit with plain ports, a word for each lane, for a driver in C++."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.reduce.reduce_unit import LANE_BITS, ReduceUnit

TAG_WIDTH = 16


class ReduceProbe(wiring.Component):
    """A :class:`ReduceUnit` whose payloads are ports of their own.

    Parameters
    ----------
    data_width, add_cycles : int
        As for the unit.

    Members
    -------
    i_valid, i_ready, i_select, i_datatype, i_operator, i_odd, i_tag, i_a_<lane>, i_b_<lane>
        Requests.
    o_valid, o_ready, o_tag, o_<lane>
        Results.
    """

    def __init__(self, *, data_width: int, add_cycles: int):
        self.unit = ReduceUnit(data_width=data_width, add_cycles=add_cycles, tag_width=TAG_WIDTH)
        lanes = range(self.unit.n_lanes)
        super().__init__({
            "i_valid": In(1), "i_ready": Out(1), "i_select": In(2), "i_datatype": In(4), "i_operator": In(4),
            "i_odd": In(1), "i_tag": In(TAG_WIDTH),
            **{f"i_{name}_{lane}": In(LANE_BITS) for name in "ab" for lane in lanes},
            "o_valid": Out(1), "o_ready": In(1), "o_tag": Out(TAG_WIDTH),
            **{f"o_{lane}": Out(LANE_BITS) for lane in lanes},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        request, result = unit.i.payload, unit.o.payload
        m.d.comb += [
            unit.i.valid.eq(self.i_valid), self.i_ready.eq(unit.i.ready),
            request.select.eq(self.i_select), request.datatype.eq(self.i_datatype),
            request.operator.eq(self.i_operator), request.odd.eq(self.i_odd), request.tag.eq(self.i_tag),
            self.o_valid.eq(unit.o.valid), unit.o.ready.eq(self.o_ready), self.o_tag.eq(result.tag),
        ]
        for lane in range(unit.n_lanes):
            m.d.comb += [
                request.a.word_select(lane, LANE_BITS).eq(getattr(self, f"i_a_{lane}")),
                request.b.word_select(lane, LANE_BITS).eq(getattr(self, f"i_b_{lane}")),
                getattr(self, f"o_{lane}").eq(result.data.word_select(lane, LANE_BITS)),
            ]
        return m
