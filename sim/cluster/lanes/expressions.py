"""C++ for operations on values: one vector for each word of the outcome, one mask for each bit."""

from collections.abc import Callable

from sim.cluster.lanes.layout import WORD, n_words
from sim.cluster.lanes.netlist import Cell, NetlistError, Value
from sim.cluster.lanes.words import ZERO, Operands, bit, constant, joined, ones, pieces, word

_FULL = (1 << WORD) - 1


def operation(of: Operands, cell: Cell, index: int) -> str:
    """Word `index` of a cell's output, or its mask.

    Raises
    ------
    NetlistError
        If there is no such operation.
    """
    rule = _BITS.get(cell.op) if cell.width == 1 else _WORDS.get(cell.op)
    if rule is None:
        raise NetlistError(f"operation {cell.op} of {cell.width} bits")
    return rule(of, cell, index)


# Of one bit.

def _bit_logic(symbol: str) -> Callable[[Operands, Cell, int], str]:
    def text(of: Operands, cell: Cell, _index: int) -> str:
        a, b = cell.args
        return f"({bit(of, a[0])} {symbol} {bit(of, b[0])})"

    return text


def _bit_not(of: Operands, cell: Cell, _index: int) -> str:
    return f"({bit(of, cell.args[0][0])} ^ ALL)"


def _bit_mux(of: Operands, cell: Cell, _index: int) -> str:
    condition, yes, no = (bit(of, value[0]) for value in cell.args)
    return f"PICK({condition}, {yes}, {no})"


def _bit_choose(of: Operands, cell: Cell, _index: int) -> str:
    text = bit(of, cell.args[0][0])
    for condition, value in zip(cell.args[1::2], cell.args[2::2], strict=True):
        text = f"PICK({bit(of, condition[0])}, {bit(of, value[0])}, {text})"
    return text


def _single_bits(of: Operands, value: Value) -> int:
    """How many pieces of a value are bits, which cost an operation each to put into a word."""
    return sum(count == 1 for _at, net, count in pieces(value) if net > 1)


def _bit_eq(of: Operands, cell: Cell, _index: int) -> str:
    a, b = cell.args
    if _single_bits(of, a) + _single_bits(of, b) > len(a) // 2:
        terms = []
        for one, other in zip(a, b, strict=True):
            if one < 2 or other < 2:
                net, level = (one, other) if other < 2 else (other, one)
                terms.append(bit(of, net) if level else f"({bit(of, net)} ^ ALL)")
            else:
                terms.append(f"({bit(of, one)} ^ {bit(of, other)} ^ ALL)")
        return f"({' & '.join(terms)})"
    return f"EQUAL({_differences(of, a, b)})" if n_words(len(a)) > 1 else f"SAME({word(of, a, 0)}, {word(of, b, 0)})"


def _differences(of: Operands, a: Value, b: Value) -> str:
    return joined([f"({word(of, a, index)} ^ {word(of, b, index)})" for index in range(n_words(len(a)))])


def _bit_match(of: Operands, cell: Cell, _index: int) -> str:
    value, = cell.args
    terms = []
    for mask, bits in cell.param:
        each = [
            f"SAME({word(of, value, index)} & {constant(mask >> WORD * index & _FULL)}, "
            f"{constant(bits >> WORD * index & _FULL)})"
            for index in range(n_words(len(value))) if mask >> WORD * index & _FULL
        ]
        terms.append(f"({' & '.join(each)})" if each else "ALL")
    return f"({' | '.join(terms)})"


def _tests(of: Operands, value: Value, test: str) -> list[str]:
    """Masks that say something of the bits of a value, for each piece of it."""
    looked: dict[tuple[int, int], int] = {}
    texts = []
    for net in value:
        number, place = net >> 16, net & 0xFFFF
        if of.width(number) == 1:
            texts.append(of.mask(number))
        else:
            key = number, place // WORD
            looked[key] = looked.get(key, 0) | 1 << place % WORD
    return texts + [
        f"{test}({of.word(number, index)}, {bits:#x}ull)" for (number, index), bits in looked.items()
    ]


def _bit_any(of: Operands, cell: Cell, _index: int) -> str:
    return f"({' | '.join(_tests(of, cell.args[0], 'BIT'))})"


def _bit_all(of: Operands, cell: Cell, _index: int) -> str:
    return f"({' & '.join(_tests(of, cell.args[0], 'EVERY'))})"


def _bit_odd(of: Operands, cell: Cell, _index: int) -> str:
    value, = cell.args
    text = " ^ ".join(word(of, value, index) for index in range(n_words(len(value))))
    return f"ODD({text})"


def _compared(of: Operands, a: Value, b: Value) -> tuple[str, str]:
    """Masks of the lanes in which `a` is below `b`, and in which they are equal, as unsigned numbers."""
    below, same = "0u", "ALL"
    for index in range(n_words(len(a))):
        x, y = of.local("V", word(of, a, index)), of.local("V", word(of, b, index))
        below = f"(BELOW({x}, {y}) | (SAME({x}, {y}) & {below}))" if index else f"BELOW({x}, {y})"
        same = f"({same} & SAME({x}, {y}))" if index else f"SAME({x}, {y})"
    return below, same


def _bit_ult(of: Operands, cell: Cell, _index: int) -> str:
    return _compared(of, *cell.args)[0]


def _bit_ule(of: Operands, cell: Cell, _index: int) -> str:
    return f"({_compared(of, *cell.args[::-1])[0]} ^ ALL)"


def _signed(of: Operands, a: Value, b: Value) -> str:
    """Mask of the lanes in which `a` is below `b` as signed numbers: where signs differ, the one with the sign is."""
    below, _same = _compared(of, a, b)
    return f"({below} ^ {bit(of, a[-1])} ^ {bit(of, b[-1])})"


def _bit_slt(of: Operands, cell: Cell, _index: int) -> str:
    return _signed(of, *cell.args)


def _bit_sle(of: Operands, cell: Cell, _index: int) -> str:
    return f"({_signed(of, *cell.args[::-1])} ^ ALL)"


def _bit_first(rule: Callable[[Operands, Cell, int], str]) -> Callable[[Operands, Cell, int], str]:
    """The mask of what is worked out as a word."""
    def text(of: Operands, cell: Cell, index: int) -> str:
        return f"BIT({rule(of, cell, index)}, 1ull)"

    return text


# Of words.

def _logic(symbol: str) -> Callable[[Operands, Cell, int], str]:
    def text(of: Operands, cell: Cell, index: int) -> str:
        a, b = cell.args
        return f"({word(of, a, index)} {symbol} {word(of, b, index)})"

    return text


def _not(of: Operands, cell: Cell, index: int) -> str:
    return f"({word(of, cell.args[0], index)} ^ {constant(_inside(cell.width, index))})"


def _inside(width: int, index: int) -> int:
    """The bits of a word that belong to a value of that width."""
    return ones(min(WORD, width - WORD * index))


def _cut(text: str, width: int, index: int) -> str:
    inside = _inside(width, index)
    return text if inside == _FULL else f"({text} & {constant(inside)})"


def _mux(of: Operands, cell: Cell, index: int) -> str:
    (condition,), yes, no = cell.args
    return chosen(bit(of, condition), word(of, yes, index), word(of, no, index))


def chosen(condition: str, yes: str, no: str) -> str:
    if yes == no:
        return yes
    if no == ZERO:
        return f"WHERE({condition}, {yes})"
    if yes == ZERO:
        return f"UNLESS({condition}, {no})"
    return f"BLEND({condition}, {yes}, {no})"


def _choose(of: Operands, cell: Cell, index: int) -> str:
    """Steps with one condition after the other that fill one word are one step."""
    low, inside = WORD * index, _inside(cell.width, index)
    text = word(of, cell.args[0], index)
    steps: list[tuple[int, int, list[int]]] = []
    for start, (condition,), value in zip(cell.param, cell.args[1::2], cell.args[2::2], strict=True):
        first, last = max(start, low), min(start + len(value), low + WORD)
        if first >= last:
            continue
        if not steps or steps[-1][0] != condition:
            steps.append((condition, 0, [0] * WORD))
        covered = ones(last - first) << (first - low)
        _, before, nets = steps[-1]
        nets[first - low:last - low] = value[first - start:last - start]
        steps[-1] = condition, before | covered, nets
    for condition, covered, nets in steps:
        there = word(of, tuple(nets), 0)
        if covered & inside != inside:
            text = of.local("V", text)
            kept = f"({text} & {constant(inside & ~covered)})"
            there = kept if there == ZERO else f"({kept} | {there})"
        text = chosen(bit(of, condition), there, text)
    return text


def _add(of: Operands, cell: Cell, index: int) -> str:
    a, b = cell.args
    text = f"({word(of, a, index)} + {word(of, b, index)})"
    if index:
        text = f"({text} + SPREAD({_carry(of, a, b, index)}, 1ull))"
    return _cut(text, cell.width, index)


def _carry(of: Operands, a: Value, b: Value, index: int) -> str:
    """Carry into a word of a sum."""
    x, y = (of.local("V", word(of, value, index - 1)) for value in (a, b))
    total = of.local("V", f"({x} + {y})")
    out = f"BELOW({total}, {x})"
    if index > 1:
        before = _carry(of, a, b, index - 1)
        out = f"({out} | ({before} & SAME({total}, {constant(_FULL)})))"
    return of.local("M", out)


def _sub(of: Operands, cell: Cell, index: int) -> str:
    a, b = cell.args
    text = f"({word(of, a, index)} - {word(of, b, index)})"
    if index:
        text = f"({text} - SPREAD({_borrow(of, a, b, index)}, 1ull))"
    return _cut(text, cell.width, index)


def _borrow(of: Operands, a: Value, b: Value, index: int) -> str:
    """Borrow from a word of a difference."""
    x, y = (of.local("V", word(of, value, index - 1)) for value in (a, b))
    out = f"BELOW({x}, {y})"
    if index > 1:
        before = _borrow(of, a, b, index - 1)
        out = f"({out} | ({before} & SAME({x}, {y})))"
    return of.local("M", out)


def _neg(of: Operands, cell: Cell, index: int) -> str:
    value, = cell.args
    return _sub(of, Cell("sub", cell.width, ((0,) * cell.width, value), cell.module), index)


def _mul(of: Operands, cell: Cell, index: int) -> str:
    a, b = ([of.local("V", word(of, value, at)) for at in range(n_words(cell.width))] for value in cell.args)
    if n_words(cell.width) == 1:
        return _cut(f"({a[0]} * {b[0]})", cell.width, index)
    if n_words(cell.width) != 2 or any(net for value in cell.args for net in value[WORD:]):
        raise NetlistError(f"a product of {cell.width} bits: the generator knows those of two values of 64")
    return _cut(f"HIGH({a[0]}, {b[0]})" if index else f"({a[0]} * {b[0]})", cell.width, index)


def _amount(of: Operands, amount: Value) -> str:
    """Of a value of one word: all of it is shifted out where a bit above the amount's first word is 1."""
    text, above = word(of, amount, 0), [net for net in amount[WORD:] if net]
    if above:
        far = "ALL" if 1 in above else f"({' | '.join(_tests(of, tuple(above), 'BIT'))})"
        text = chosen(far, constant(WORD), text)
    return of.local("V", text)


def _moved(of: Operands, words: list[str], amount: Value, *, left: bool) -> list[str]:
    """Whole words moved by what the bits of the amount above those of a word say."""
    for place, net in enumerate(amount[6:]):
        by = 1 << place
        condition = bit(of, net)
        words = [
            of.local("V", chosen(condition, _at(words, index - by if left else index + by), words[index]))
            for index in range(len(words))
        ]
    return words


def _at(words: list[str], index: int) -> str:
    return words[index] if 0 <= index < len(words) else ZERO


def _shl(of: Operands, cell: Cell, index: int) -> str:
    value, amount = cell.args
    words = [of.local("V", word(of, value, at)) for at in range(n_words(cell.width))]
    if len(words) == 1:
        return _cut(f"LEFT({words[0]}, {_amount(of, amount)})", cell.width, index)
    words = _moved(of, words, amount, left=True)
    by = of.local("V", word(of, amount[:6], 0))
    text = f"LEFT({words[index]}, {by})"
    if index:
        text = f"({text} | RIGHT({words[index - 1]}, {constant(WORD)} - {by}))"
    return _cut(text, cell.width, index)


def _shr(of: Operands, cell: Cell, index: int) -> str:
    value, amount = cell.args
    words = [of.local("V", word(of, value, at)) for at in range(n_words(len(value)))]
    return _right(of, words, amount, index)


def _right(of: Operands, words: list[str], amount: Value, index: int) -> str:
    if len(words) == 1:
        return f"RIGHT({words[0]}, {_amount(of, amount)})"
    words = _moved(of, words, amount, left=False)
    by = of.local("V", word(of, amount[:6], 0))
    text = f"RIGHT({words[index]}, {by})"
    if index + 1 < len(words):
        text = f"({text} | LEFT({words[index + 1]}, {constant(WORD)} - {by}))"
    return text


def _sar(of: Operands, cell: Cell, index: int) -> str:
    """Shifts the sign in from above: as if the value, where it has one, were inverted before and after."""
    value, amount = cell.args
    sign = bit(of, value[-1])
    words = [
        of.local("V", f"({word(of, value, at)} ^ SPREAD({sign}, {_inside(len(value), at):#x}ull))")
        for at in range(n_words(len(value)))
    ]
    return f"({_right(of, words, amount, index)} ^ SPREAD({sign}, {_inside(cell.width, index):#x}ull))"


_Rule = Callable[[Operands, Cell, int], str]
_BITS: dict[str, _Rule] = {
    "and": _bit_logic("&"), "or": _bit_logic("|"), "xor": _bit_logic("^"), "not": _bit_not, "mux": _bit_mux,
    "choose": _bit_choose, "eq": _bit_eq, "match": _bit_match, "any": _bit_any, "all": _bit_all, "odd": _bit_odd,
    "ult": _bit_ult, "ule": _bit_ule, "slt": _bit_slt, "sle": _bit_sle,
    "add": _bit_logic("^"), "sub": _bit_logic("^"), "mul": _bit_logic("&"),
    "shl": _bit_first(_shl), "shr": _bit_first(_shr), "sar": _bit_first(_sar),
}
_BITS["neg"] = lambda of, cell, _index: bit(of, cell.args[0][0])
_WORDS: dict[str, _Rule] = {
    "and": _logic("&"), "or": _logic("|"), "xor": _logic("^"), "not": _not, "mux": _mux, "choose": _choose,
    "add": _add, "sub": _sub, "neg": _neg, "mul": _mul, "shl": _shl, "shr": _shr, "sar": _sar,
}
