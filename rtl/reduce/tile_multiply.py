"""Products of integers, cut into tiles that multiplier blocks of both FPGA families take.

Picture and reasons: ``docs/reduce.md``.
"""

from amaranth import Cat, Const, Value

from rtl.kit.step_pipeline import StepPipeline, StepValues
from rtl.reduce.bits import parts

TILE_A = 18
"""Bits of a tile of the first factor. 18 x 18 unsigned is one block of an ECP5."""

TILE_B = 17
"""Bits of a tile of the second factor: with a sign bit more on both sides, 19 x 18 is one block of a Xilinx part."""

_few = 3

Addend = tuple[int, Value]
"""A number, and how far it is shifted left."""


def tile_multiply(
    pipeline: StepPipeline, v: StepValues, *, a: str, b: str, product: str, bits: int
) -> StepValues:
    """Multiplies the unsigned values `a` and `b` of `v`; the low `bits` of the product replace them as `product`.

    A second factor that is a few bits too long for its tiles has those multiplied by plain gates: tiles of two bits
    would cost whole blocks. Steps: ``tiles``, ``rows``, ``pairs``, ``total``.
    """
    factor_a, factor_b = getattr(v, a), getattr(v, b)
    over = len(factor_b) % TILE_B if len(factor_b) > TILE_B else 0
    cut = len(factor_b) - over if over <= _few else len(factor_b)

    # A row for each piece of b. Every other tile of a row stands clear of the next but one, so that a row is one
    # addition of two numbers.
    rows = []
    for row, piece_b in enumerate(parts(factor_b[:cut], TILE_B)):
        tiles = [(TILE_A * column + TILE_B * row, piece_a * piece_b)
                 for column, piece_a in enumerate(parts(factor_a, TILE_A))]
        rows.append([(weight, tile[:bits - weight]) for weight, tile in tiles if weight < bits])
    rest = [(weight, Cat(bit & factor_b[weight] for bit in factor_a)) for weight in range(cut, len(factor_b))]
    v, rows = _register(pipeline, "tiles", v, f"{a} {b}", [*rows, rest] if rest else rows)

    sums = [[_sum(_interleaved(row), bits)] for row in rows[:len(rows) - bool(rest)]]
    if rest:
        sums.append([_sum(rows[-1], bits)])
    v, sums = _register(pipeline, "rows", v, _names("tiles", rows), sums)

    flat = [addend for row in sums for addend in row]
    pairs = [[_sum(flat[weight:weight + 2], bits)] for weight in range(0, len(flat), 2)]
    v, pairs = _register(pipeline, "pairs", v, _names("rows", sums), pairs)

    weight, total = _sum([addend for pair in pairs for addend in pair], bits)
    return pipeline.step("total", v, _names("pairs", pairs), **{product: Cat(Const(0, weight), total)[:bits]})


def _register(
    pipeline: StepPipeline, step: str, v: StepValues, drop: str, rows: list[list[Addend]]
) -> tuple[StepValues, list[list[Addend]]]:
    """Ends `step`; the addends come back as they are after it."""
    new = {f"{step}_{i}_{j}": value for i, row in enumerate(rows) for j, (_, value) in enumerate(row)}
    v = pipeline.step(step, v, drop, **new)
    after = [[(weight, getattr(v, f"{step}_{i}_{j}")) for j, (weight, _) in enumerate(row)]
             for i, row in enumerate(rows)]
    return v, after


def _names(step: str, rows: list[list[Addend]]) -> str:
    return " ".join(f"{step}_{i}_{j}" for i, row in enumerate(rows) for j in range(len(row)))


def _interleaved(row: list[Addend]) -> list[Addend]:
    """At most two numbers, of the tiles with even and with odd weights."""
    numbers = []
    for layer in (row[::2], row[1::2]):
        if layer:
            start, number = layer[0]
            for weight, tile in layer[1:]:
                number = Cat(number, Const(0, weight - start - len(number)), tile)
            numbers.append((start, number))
    return numbers


def _sum(addends: list[Addend], bits: int) -> Addend:
    """The sum modulo 2**bits. Low bits that one addend has alone pass beside the addition."""
    weight, total = addends[0]
    for other_weight, other in addends[1:]:
        (weight, low), (high_weight, high) = sorted(
            ((weight, total), (other_weight, other)), key=lambda addend: addend[0],
        )
        below = high_weight - weight
        total = Cat(low[:below], Const(0, max(0, below - len(low))), low[below:] + high)
        total = total[:bits - weight]
    return weight, total
