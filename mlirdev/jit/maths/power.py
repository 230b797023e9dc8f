"""pow in f32, computed in f64: |x|^y = 2^(y · log2 |x|), so that the result is right to half a unit or so."""

from __future__ import annotations

import math

from mlirdev.jit.maths.builder import (
    Value,
    absolute,
    at_least,
    at_most,
    polynomial,
    power_of_two,
    round_whole,
    select,
)

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# log2(1 + f) = s · L(s²) with s = f / (2 + f), |s| < 0.172; the next term is below 2^-44.
_LOG2 = tuple(2 / math.log(2) / k for k in range(15, 0, -2))
# 2^r on [−½, ½]; the next term is below 2^-37.
_EXP2 = tuple(math.log(2) ** k / math.factorial(k) for k in range(9, -1, -1))


def _log2(x: Value) -> Value:
    """log2 of a positive double, −∞ at 0, ∞ at ∞; good to 2^-43."""
    bits = x.bits()
    e = (bits - _SQRT_HALF_BITS) >> 52
    mantissa = (bits - (e << 52)).as_float()
    s = (mantissa - 1.0) / (mantissa + 1.0)
    result = e.to("double") + s * polynomial(s * s, *_LOG2)
    result = select(x.equals(math.inf), math.inf, result)
    return select(x.equals(0.0), -math.inf, result)


def _exp2(x: Value) -> Value:
    """2^x as a double, between what is 0 and what is infinite as a float."""
    x = at_least(at_most(x, 200.0), -200.0)
    whole, n = round_whole(x)
    return polynomial(x - whole, *_EXP2) * power_of_two(n)


def pow(x: Value, y: Value) -> Value:
    """As C's pow, with its special cases."""
    wide_y = y.to("double")
    magnitude = _exp2(wide_y * _log2(absolute(x).to("double"))).to("float")
    magnitude = select(absolute(x).equals(1.0), 1.0, magnitude)  # also at y = ±∞
    truncated = y.builder.intrinsic("trunc", y)
    half = y * 0.5
    is_whole = truncated.equals(y)
    is_odd = is_whole & (y.builder.intrinsic("trunc", half).equals(half) ^ True)
    is_negative = x.bits() < 0  # −0 too
    result = select(is_odd & is_negative, -magnitude, magnitude)
    is_undefined = (x < 0.0) & (is_whole ^ True) & (x > -math.inf)
    result = select(is_undefined, math.nan, result)
    result = select(x.is_unordered(y), x + y, result)
    return select(x.equals(1.0), 1.0, select(y.equals(0.0), 1.0, result))


def powi(x: Value, n: Value) -> Value:
    """x to a whole power."""
    return pow(x, n.to("float"))
