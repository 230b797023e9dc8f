"""log, log2, log10, log1p and the inverse hyperbolic functions, in f32 and f64.

log x = e·ln 2 + log(1 + f),   x = 2^e · (1 + f),   1 + f in [2/3, 4/3), in f64 [√½, √2)
"""

from __future__ import annotations

import math

from mlirdev.jit.maths.builder import (
    Value,
    absolute,
    copysign,
    fma,
    polynomial,
    power_of_two,
    select,
    sqrt,
)

_MANTISSA_BITS = {"float": 23, "double": 52}
_SMALLEST_NORMAL = {"float": 2.0**-126, "double": 2.0**-1022}
# The bits of the smallest 1 + f: 2/3 as a float, √½ as a double.
_LOWEST = {"float": 0x3F2AAAAB, "double": 0x3FE6A09E667F3BCD}
_LN2 = {
    "float": (6.93145752e-1, 1.42860677e-6),
    "double": (float.fromhex("0x1.62e42fee00000p-1"), 1.90821492927058770002e-10),
}

# log(1 + f) = f − f²/2 + f³·P(f) on [−1/3, 1/3], minimax
_P_F32 = (-0.130310059, 0.140869141, -0.121483512, 0.139814854, -0.166846126, 0.200120345, -0.249996200, 0.333331972)
# In f64 with s = f / (2 + f): log(1 + f) = f − f²/2 + s·(f²/2 + R(s²)), as in fdlibm.
_R_F64 = (
    1.479819860511658591e-1,
    1.531383769920937332e-1,
    1.818357216161805012e-1,
    2.222219843214978396e-1,
    2.857142874366239149e-1,
    3.999999999940941908e-1,
    6.666666666666735130e-1,
)


def _exponent(x: Value) -> Value:
    """e of the module's docstring, for a normal positive x."""
    return (x.bits() - _LOWEST[x.kind]) >> _MANTISSA_BITS[x.kind]


def _split(x: Value) -> tuple[Value, Value]:
    """(e as a float, f) for a positive finite x, denormal ones too."""
    bits = _MANTISSA_BITS[x.kind]
    is_denormal = x < _SMALLEST_NORMAL[x.kind]
    x = select(is_denormal, x * 2.0**bits, x)
    e = _exponent(x)
    mantissa = (x.bits() - (e << bits)).as_float()
    return e.to(x.kind) - select(is_denormal, x.builder.lift(float(bits), x.kind), 0.0), mantissa - 1.0


def _log1p_tail(f: Value) -> Value:
    """log(1 + f) − f in that range."""
    square = f * f
    if f.kind == "float":
        return square * fma(polynomial(f, *_P_F32), f, -0.5)
    s = f / (f + 2.0)
    s2 = s * s
    half = 0.5 * square
    return s * fma(polynomial(s2, *_R_F64), s2, half) - half


def _with_limits(x: Value, result: Value) -> Value:
    """A logarithm of x with its values at 0, infinity and below 0; NaN stays NaN."""
    result = select(x.equals(math.inf), x, result)
    result = select(x.equals(0.0), -math.inf, result)
    return select(x >= 0.0, result, math.nan)


def _combine(e: Value, f: Value, tail: Value) -> Value:
    """e·ln 2 + f + tail, small parts first."""
    high, low = _LN2[e.kind]
    return fma(e, high, f + fma(e, low, tail))


def log(x: Value) -> Value:
    e, f = _split(x)
    return _with_limits(x, _combine(e, f, _log1p_tail(f)))


def log2(x: Value) -> Value:
    """log(x) / ln 2, with 1/ln 2 as 1 + rest, so that the large part is exact."""
    e, f = _split(x)
    tail, rest = _log1p_tail(f), 1 / math.log(2) - 1
    return _with_limits(x, e + (f + fma(f, rest, fma(tail, rest, tail))))


_LOG10_2 = {"float": (3.01025391e-1, 4.60503907e-6), "double": (3.01029995663611771306e-01, 3.69423907715893078616e-13)}


def log10(x: Value) -> Value:
    e, f = _split(x)
    tail, scale = _log1p_tail(f), 1 / math.log(10)
    high, low = _LOG10_2[x.kind]
    # f·scale is rounded once more than in log2; its first bits are therefore taken apart
    top = {"float": 0.43359375, "double": 4.34294481878168880939e-01}[x.kind]
    bottom = scale - top
    return _with_limits(x, fma(e, high, fma(f, top, fma(f, bottom, fma(tail, scale, e * low)))))


def log1p(x: Value) -> Value:
    """With 2^−e scaled into x itself, f keeps the bits that 1 + x loses."""
    e = _exponent(x + 1.0)
    half = e >> 1  # 2^−e may be denormal: two factors
    first, second = power_of_two(-half), power_of_two(half - e)
    f = fma(x * first, second, first * second - 1.0)
    result = _combine(e.to(x.kind), f, _log1p_tail(f))
    result = select(absolute(x) < {"float": 2.0**-25, "double": 2.0**-54}[x.kind], x, result)  # −0, denormals
    result = select(x.equals(math.inf), x, result)
    result = select(x.equals(-1.0), -math.inf, result)
    return select(x >= -1.0, result, math.nan)


def atanh(x: Value) -> Value:
    magnitude = absolute(x)
    return copysign(0.5 * log1p(2.0 * magnitude / (1.0 - magnitude)), x)


def asinh(x: Value) -> Value:
    """log(a + √(a² + 1)); past `large`, where a² may overflow, log a + ln 2."""
    a = absolute(x)
    large = a > {"float": 2.0**13, "double": 2.0**28}[x.kind]
    square = a * a
    inner = select(large, a - 1.0, a + square / (sqrt(square + 1.0) + 1.0))
    return copysign(log1p(inner) + select(large, x.builder.lift(math.log(2), x.kind), 0.0), x)


def acosh(x: Value) -> Value:
    large = x > {"float": 2.0**13, "double": 2.0**28}[x.kind]
    above = x - 1.0
    inner = select(large, above, above + sqrt(above * (above + 2.0)))
    result = log1p(inner) + select(large, x.builder.lift(math.log(2), x.kind), 0.0)
    return select(x >= 1.0, result, math.nan)
