"""sin, cos, tan and their inverses in f32.

Every argument up to the largest float is reduced exactly, without a branch. With x = m · 2^e, m whole,

    x · 2/π  ≡  m · T[e]  (mod 4),   T[e] = 2^e · 2/π mod 4

and T is a table of two doubles for each e: 29 bits, so that m times them is exact, and the rest. The whole
part of the sum is the quadrant, the fraction times π/2 the reduced argument. The table makes the reduction
a gather, which costs some 2 ns per element: dearer than a reduction for small arguments alone, but one path
that a vectoriser takes as it is, where a rare libm call would keep it from vectorising at all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from mlirdev.jit.maths.builder import Value, absolute, at_most, copysign, fma, polynomial, round_whole, select, sqrt

# 2/π in binary, to more than the 24 + 104 + 64 bits that the largest float needs.
_TWO_OVER_PI = Fraction(0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561, 1 << 256)
# |x| below 2^(this − 127) is small enough that sin x = x and cos x = 1.
_FIRST_EXPONENT = 103


@cache
def _table() -> tuple[list[float], list[float]]:
    """T's two parts, from the exponent _FIRST_EXPONENT on."""
    high, low = [], []
    for biased in range(_FIRST_EXPONENT, 255):
        exact = _TWO_OVER_PI * Fraction(2) ** (biased - 150) % 4
        exponent = math.frexp(float(exact))[1]
        unit = Fraction(2) ** (exponent - 29)
        first = exact // unit * unit
        high.append(float(first))
        low.append(float(exact - first))
    return high, low


def _reduce(x: Value) -> tuple[Value, Value]:
    """(quadrant as an i32 of which two bits count, the reduced argument in [−π/4, π/4])."""
    biased = (x.bits() & 0x7FFFFFFF) >> 23
    index = at_most(select(biased < _FIRST_EXPONENT, _FIRST_EXPONENT, biased), 254) - _FIRST_EXPONENT
    mantissa = (x.bits() & 0x007FFFFF | 0x00800000).to("double")
    table_high, table_low = _table()
    high = mantissa * x.builder.gather("mlirdev.two_over_pi.high", "double", table_high, index)
    low = mantissa * x.builder.gather("mlirdev.two_over_pi.low", "double", table_low, index)
    turns, _ = round_whole(high * 0.25)
    high = high - turns * 4.0
    whole, quadrant = round_whole(high + low)
    reduced = ((high - whole + low) * (math.pi / 2)).to("float")
    magnitude = absolute(x)
    is_small = biased < _FIRST_EXPONENT
    reduced = select(is_small, magnitude, reduced)
    quadrant = select(is_small, 0, quadrant.to("i32"))
    # infinity and NaN give NaN
    return quadrant, select(magnitude < math.inf, reduced, x - x)


def _sine(r: Value) -> Value:
    square = r * r
    tail = polynomial(square, 2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1)
    return fma(r * square, tail, r)


def _cosine(r: Value) -> Value:
    return polynomial(r * r, 2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1.0)


def _signed(value: Value, negative: Value) -> Value:
    """−value where bit 1 of `negative` is set."""
    return (value.bits() ^ ((negative & 2) << 30)).as_float()


def sin(x: Value) -> Value:
    quadrant, r = _reduce(x)
    of_magnitude = _signed(select((quadrant & 1).equals(0), _sine(r), _cosine(r)), quadrant)
    return (of_magnitude.bits() ^ (x.bits() & -0x80000000)).as_float()


def cos(x: Value) -> Value:
    quadrant, r = _reduce(x)
    return _signed(select((quadrant & 1).equals(0), _cosine(r), _sine(r)), quadrant + 1)


def tan(x: Value) -> Value:
    quadrant, r = _reduce(x)
    is_even = (quadrant & 1).equals(0)
    sine, cosine = _sine(r), _cosine(r)
    ratio = select(is_even, sine, -cosine) / select(is_even, cosine, sine)
    return (ratio.bits() ^ (x.bits() & -0x80000000)).as_float()


# (atan t − t) / t³ on [0, 1] in t²
_ATAN = (
    0.00282363896258175373077393,
    -0.0159569028764963150024414,
    0.0425049886107444763183594,
    -0.0748900920152664184570312,
    0.106347933411598205566406,
    -0.142027363181114196777344,
    0.199926957488059997558594,
    -0.333331018686294555664062,
)
# (asin t − t) / t³ on [0, ½] in t²
_ASIN = (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
# π/2 as a float and the rest
_HALF_PI = (1.57079637050628662109375, -4.37113900018624283e-8)


def _atan_unit(t: Value) -> Value:
    square = t * t
    return fma(t * square, polynomial(square, *_ATAN), t)


def atan(x: Value) -> Value:
    magnitude = absolute(x)
    is_steep = magnitude > 1.0
    angle = _atan_unit(select(is_steep, 1.0 / magnitude, magnitude))
    high, low = _HALF_PI
    return copysign(select(is_steep, high - (angle - low), angle), x)


def atan2(y: Value, x: Value) -> Value:
    a, b = absolute(y), absolute(x)
    is_steep = a > b
    small, large = select(is_steep, b, a), select(is_steep, a, b)
    ratio = small / large
    ratio = select(large.equals(0.0), 0.0, ratio)  # both 0
    ratio = select(small.equals(math.inf), 1.0, ratio)  # both infinite
    angle = _atan_unit(ratio)
    high, low = _HALF_PI
    angle = select(is_steep, high - (angle - low), angle)
    is_left = x.bits() < 0
    angle = select(is_left, 2 * high - (angle - 2 * low), angle)
    angle = copysign(angle, y)
    return select(x.is_unordered(y), x + y, angle)


def _asin_parts(x: Value) -> tuple[Value, Value]:
    """(whether |x| > ½, asin of t): t is |x|, or √((1−|x|)/2) where |x| > ½."""
    magnitude = absolute(x)
    is_far = magnitude > 0.5
    square = select(is_far, (1.0 - magnitude) * 0.5, magnitude * magnitude)
    t = select(is_far, sqrt(square), magnitude)
    return is_far, fma(t * square, polynomial(square, *_ASIN), t)


def asin(x: Value) -> Value:
    is_far, part = _asin_parts(x)
    high, low = _HALF_PI
    return copysign(select(is_far, high - (2.0 * part - low), part), x)


def acos(x: Value) -> Value:
    """Near 1: 2·part; near −1: π − 2·part; between: π/2 − asin x."""
    is_far, part = _asin_parts(x)
    high, low = _HALF_PI
    is_negative = x < 0.0
    far = select(is_negative, 2 * high - (2.0 * part - 2 * low), 2.0 * part)
    near = high - (copysign(part, x) - low)
    return select(is_far, far, near)
