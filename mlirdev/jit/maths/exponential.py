"""exp, exp2, expm1 and the hyperbolic functions, in f32 and f64.

    e^x = 2^n · e^r,   n = round(x / ln 2),   r = x − n·ln 2 in [−ln2/2, ln2/2]

ln 2 is taken in two parts, the first with so few bits that n times it is exact.
"""

from __future__ import annotations

import math

from mlirdev.jit.maths.builder import (
    Value,
    absolute,
    at_least,
    at_most,
    copysign,
    fma,
    polynomial,
    power_of_two,
    round_whole,
    scale_by_power_of_two,
    select,
)

# (ln 2's first part, the rest), n times the first part is exact.
_LN2 = {
    "float": (6.93145752e-1, 1.42860677e-6),
    "double": (float.fromhex("0x1.62e42fee00000p-1"), 1.90821492927058770002e-10),
}
# Outside of these e^x is 0 or infinite; between, n stays in the range of scale_by_power_of_two.
_EXP_RANGE = {"float": (-104.0, 89.5), "double": (-746.0, 711.0)}

# (e^r − 1 − r) / r², minimax for f32, Taylor for f64 (the next term is below 2^-56).
_EXPM1 = {
    "float": (1.97350979e-4, 1.39309070e-3, 8.33343994e-3, 4.16668020e-2, 1.66666716e-1, 4.99999970e-1),
    "double": tuple(1 / math.factorial(k) for k in range(13, 1, -1)),
}
# 2^r on [−½, ½] but for the last coefficient, 1.
_EXP2 = {
    "float": (
        1.535336188319500e-4,
        1.339887440266574e-3,
        9.618437357674640e-3,
        5.550332471162809e-2,
        2.402264791363012e-1,
        6.931472028550421e-1,
    ),
    "double": tuple(math.log(2) ** k / math.factorial(k) for k in range(13, 0, -1)),
}


def _reduce(x: Value) -> tuple[Value, Value]:
    """(n, r) of the module's docstring; x is within _EXP_RANGE or NaN."""
    whole, n = round_whole(x * (1 / math.log(2)))
    high, low = _LN2[x.kind]
    return n, fma(whole, -low, fma(whole, -high, x))


def _expm1_reduced(r: Value) -> Value:
    return fma(r * r, polynomial(r, *_EXPM1[r.kind]), r)


def exp(x: Value, halvings: int = 0, rest: Value | None = None) -> Value:
    """e^(x + rest) / 2^halvings, right where e^x itself would overflow; `rest` is small beside x."""
    low, high = _EXP_RANGE[x.kind]
    n, r = _reduce(at_least(at_most(x, high), low))
    r = r if rest is None else r + rest
    return scale_by_power_of_two(_expm1_reduced(r) + 1.0, n - halvings)


def exp2(x: Value) -> Value:
    low, high = {"float": (-151.0, 129.0), "double": (-1076.0, 1025.0)}[x.kind]
    x = at_least(at_most(x, high), low)
    whole, n = round_whole(x)
    return scale_by_power_of_two(polynomial(x - whole, *_EXP2[x.kind], 1.0), n)


def _quarter_of_expm1(x: Value) -> Value:
    """(e^x − 1) / 4 = 2^(n−2)·(e^r − 1) + (2^(n−2) − ¼): no cancellation, and no overflow before e^x / 2 does."""
    low, high = {"float": (-18.0, 89.5), "double": (-38.0, 710.48)}[x.kind]
    n, r = _reduce(at_least(at_most(x, high), low))
    scale = power_of_two(n - 2)
    return fma(scale, _expm1_reduced(r), scale - 0.25)


def _tiny_itself(x: Value, result: Value) -> Value:
    """The result, but x where x is so small that it is the answer: −0, and denormals, which a quarter shortens."""
    return select(absolute(x) < {"float": 2.0**-25, "double": 2.0**-54}[x.kind], x, result)


def expm1(x: Value) -> Value:
    return _tiny_itself(x, 4.0 * _quarter_of_expm1(x))


def tanh(x: Value) -> Value:
    """(e^2x − 1) / (e^2x + 1), odd by construction; past the limit it is 1 to the last bit."""
    limit = {"float": 10.0, "double": 20.0}[x.kind]
    quarter = _quarter_of_expm1(2.0 * at_most(absolute(x), limit))
    return _tiny_itself(x, copysign(quarter / (quarter + 0.5), x))


def sinh(x: Value) -> Value:
    quarter = _quarter_of_expm1(absolute(x))
    return _tiny_itself(x, copysign(2.0 * (quarter + quarter / fma(quarter, 4.0, 1.0)), x))


def cosh(x: Value) -> Value:
    half = exp(absolute(x), halvings=1)
    return half + 0.25 / half
