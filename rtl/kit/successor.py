"""Comparison of a count with its successor, without a carry."""

from amaranth import Cat, Const, Value


def is_next(value: Value, successor: Value) -> Value:
    """High if `successor` is ``value + 1``, both of them unsigned.

    The sum of `value` and the complement of `successor` is then all ones but for its lowest bit. For every bit of that
    sum it is known which carry it needs, and from the bit below alone which carry it gets: no carry runs. None is left
    over, or `value` was the largest number.
    """
    n = max(len(value), len(successor))
    a, b = Cat(value, Const(0, n - len(value))), ~Cat(successor, Const(0, n - len(successor)))
    fits = [~(a[0] ^ b[0]), ~(a[n - 1] & b[n - 1])]
    for i in range(1, n):
        # A sum bit of 0 carries if either is 1; a sum bit of 1 only if both are.
        carry = a[0] | b[0] if i == 1 else a[i - 1] & b[i - 1]
        fits.append((a[i] == b[i]) == carry)
    return Cat(fits).all()
