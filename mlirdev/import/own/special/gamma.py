"""The logarithm of the gamma function and its derivatives, and Hurwitz's zeta function.

lgamma is fdlibm's, always in f64; digamma, trigamma and zeta are what the CPU computes, zeta in f64.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...scalars import Scalar, select
from ..formula import INF, NAN, PI, first, fma, formula, loop, polynomial, repeat

# digamma(x) = log x - 1/2x - P(1/x²)/x² from x = 10 on; zeta: (2k)! / B_2k, for Euler and Maclaurin's formula.
_DIGAMMA = (
    0.08333333333333333, -0.021092796092796094, 0.007575757575757576, -0.004166666666666667, 0.003968253968253968,
    -0.008333333333333333, 0.08333333333333333,
)  # fmt: skip
_ZETA = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183792, 74724249600.0, -2950130727918.164,
    116467828143500.67, -4597978722407473.0, 1.8152105401943546e+17, -7.166165256175667e+18,
)  # fmt: skip
_PSI_10 = 2.25175258906672110764
_EPSILON = 1.11022302462515654042e-16

# lgamma: round 1 and 2 in even and odd powers, round its minimum (_MINIMUM, _AT_MINIMUM + _REST) in every third power,
# as rational functions round 1 and on [2, 3], and by Stirling's series from 8 on. The highest power is first.
_NEAR_TWO_EVEN = (
    2.52144565451257326939e-05, 2.20862790713908385557e-04, 1.19270763183362067845e-03, 7.38555086081402883957e-03,
    6.73523010531292681824e-02, 7.72156649015328655494e-02,
)  # fmt: skip
_NEAR_TWO_ODD = (
    4.48640949618915160150e-05, 1.08011567247583939954e-04, 5.10069792153511336608e-04, 2.89051383673415629091e-03,
    2.05808084325167332806e-02, 3.22467033424113591611e-01,
)  # fmt: skip
_MINIMUM, _AT_MINIMUM, _REST = 1.46163214496836224576, -1.21486290535849611461e-01, -3.63867699703950536541e-18
_NEAR_MINIMUM_0 = (
    3.15632070903625950361e-04, -1.40346469989232843813e-03, 6.10053870246291332635e-03, -3.27885410759859649565e-02,
    4.83836122723810047042e-01,
)  # fmt: skip
_NEAR_MINIMUM_1 = (
    -3.12754168375120860518e-04, 8.81081882437654011382e-04, -3.68452016781138256760e-03, 1.79706750811820387126e-02,
    -1.47587722994593911752e-01,
)  # fmt: skip
_NEAR_MINIMUM_2 = (
    3.35529192635519073543e-04, -5.38595305356740546715e-04, 2.25964780900612472250e-03, -1.03142241298341437450e-02,
    6.46249402391333854778e-02,
)  # fmt: skip
_NEAR_ONE_P = (
    1.33810918536787660377e-02, 2.28963728064692451092e-01, 9.77717527963372745603e-01, 1.45492250137234768737,
    6.32827064025093366517e-01, -7.72156649015328655494e-02,
)  # fmt: skip
_NEAR_ONE_Q = (
    3.21709242282423911810e-03, 1.04222645593369134254e-01, 7.69285150456672783825e-01, 2.12848976379893395361,
    2.45597793713041134822, 1.0,
)  # fmt: skip
_RATIONAL_P = (
    3.19475326584100867617e-05, 1.84028451407337715652e-03, 2.66422703033638609560e-02, 1.46350472652464452805e-01,
    3.25778796408930981787e-01, 2.14982415960608852501e-01, -7.72156649015328655494e-02,
)  # fmt: skip
_RATIONAL_Q = (
    7.32668430744625636189e-06, 7.77942496381893596434e-04, 1.86459191715652901344e-02, 1.71933865632803078993e-01,
    7.21935547567138069525e-01, 1.39200533467621045958, 1.0,
)  # fmt: skip
_STIRLING = (
    -1.63092934096575273989e-03, 8.36339918996282139126e-04, -5.95187557450339963135e-04, 7.93650558643019558500e-04,
    -2.77777777728775536470e-03, 8.33333333333329678849e-02,
)  # fmt: skip
_HALF_LOG_2PI_LESS_HALF = 4.18938533204672725052e-01


@formula("lgamma")
def lgamma(x: Scalar) -> Scalar:
    """log|Γ(x)|. In negative x by reflection: log(π / |x sin πx|) − log Γ(|x|)."""
    return _lgamma(x.double()).as_type_of(x)


def _lgamma(x: Scalar) -> Scalar:
    a = abs(x)
    part = a - a.floor()
    product = a.like(1.0)
    for i in range(3, 8):
        product = select(a >= float(i), product * (part + float(i - 1)), product)
    log = select((a >= 2.0) & (a < 8.0), product, a).log()
    low = a <= 0.9
    near_one = _near_one(select(low, a, a - 1.0)) - select(low, log, 0.0)
    inverse = 1.0 / a
    tail = fma(polynomial(inverse * inverse, _STIRLING), inverse, _HALF_LOG_2PI_LESS_HALF)
    large = select(a < 2.0**58, fma(a - 0.5, log - 1.0, tail), a * (log - 1.0))
    positive = first((a < 2.0, near_one), (a < 8.0, _near_two(part) + log), otherwise=large)
    distance = select(part > 0.5, 1.0 - part, part)
    reflected = (PI / ((distance * PI).sin() * a)).log() - positive
    pole = a.equals(INF) | ((x <= 0.0) & part.equals(0.0))
    # Adding 0 makes −0 at 1 the CPU's 0.
    return first((x.is_nan(), x), (pole, INF), (a < 2.0**-70, -log), (x < 0.0, reflected), otherwise=positive + 0.0)


def _near_one(s: Scalar) -> Scalar:
    """lgamma of 1 + s, s in [0, 1)."""
    y = 1.0 - s
    z = y * y
    at_two = fma(polynomial(z, _NEAR_TWO_EVEN), y, z * polynomial(z, _NEAR_TWO_ODD)) - y * 0.5
    t = s - (_MINIMUM - 1.0)
    z, w = t * t, t * t * t
    tail = fma(polynomial(w, _NEAR_MINIMUM_2), t, polynomial(w, _NEAR_MINIMUM_1))
    at_minimum = z * polynomial(w, _NEAR_MINIMUM_0) - (_REST - w * tail) + _AT_MINIMUM
    at_one = s * polynomial(s, _NEAR_ONE_P) / polynomial(s, _NEAR_ONE_Q) - s * 0.5
    return first((s >= 0.7316, at_two), (s >= 0.23164, at_minimum), otherwise=at_one)


def _near_two(s: Scalar) -> Scalar:
    """lgamma of 2 + s, s in [0, 1)."""
    return s * 0.5 + s * polynomial(s, _RATIONAL_P) / polynomial(s, _RATIONAL_Q)


@formula("digamma")
def digamma(x: Scalar) -> Scalar:
    """By recurrence up to 10, then asymptotically; negative x by reflection."""
    negative = x < 0.0
    y, result = repeat(10, [select(negative, 1.0 - x, x), x.like(0.0)], _towards_ten)
    z = 1.0 / (y * y)
    tail = select(y < 1.0e17, z * polynomial(z, _DIGAMMA), 0.0)
    at_ten, beyond = result + _PSI_10, result + y.log() - 0.5 / y - tail
    positive = select(y.equals(10.0), at_ten, beyond)
    part = (x - x.math("trunc")).double()
    cotangent = (PI / (part * PI).math("tan")).as_type_of(x)
    pole = x.like(INF).math("copysign", -x)
    whole = negative & x.equals(x.math("trunc"))
    return first((x.equals(0.0), pole), (whole, NAN), (negative, positive - cotangent), otherwise=positive)


def _towards_ten(y: Scalar, result: Scalar) -> Sequence[Scalar]:
    low = y < 10.0
    return select(low, y + 1.0, y), select(low, result - 1.0 / y, result)


@formula("trigamma")
def trigamma(x: Scalar) -> Scalar:
    """Six steps of the recurrence, then asymptotically; x below ½ by reflection."""
    reflects = x < 0.5
    sine = (x * PI).sin()
    result = select(reflects, 0.0 - x.like(PI * PI if x.is_double else _PI_SQUARED_F32) / (sine * sine), 0.0)
    y = select(reflects, 1.0 - x, x)
    for _ in range(6):
        result = result + 1.0 / (y * y)
        y = y + 1.0
    z = 1.0 / (y * y)
    series = z * (1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0)))
    result = result + (1.0 + 1.0 / (y * 2.0) + series) / y
    return select(reflects, -result, result)


# The square of π as a float.
_PI_SQUARED_F32 = 9.869605


@formula("special_zeta")
def zeta(x: Scalar, q: Scalar) -> Scalar:
    """Σ (q + k)^−x: at least nine terms, the rest by Euler and Maclaurin."""
    order, start = x.double(), q.double()
    pole = (start <= 0.0) & start.is_whole()
    undefined = (order < 1.0) | ((start <= 0.0) & ~order.is_whole())
    inside = ~(pole | undefined | order.equals(1.0))
    leading = select(inside, q, 1.0).math("powf", -select(inside, x, 2.0)).double()
    result = _hurwitz(select(inside, order, 2.0), select(inside, start, 1.0), leading)
    result = first((order.equals(1.0), INF), (order < 1.0, NAN), (pole, INF), (undefined, NAN), otherwise=result)
    return result.as_type_of(x)


def _hurwitz(x: Scalar, q: Scalar, leading: Scalar) -> Scalar:
    """`leading` is q^−x, which the CPU computes in the operands' dtype."""

    def going(i: Scalar, a: Scalar, _s: Scalar, _b: Scalar, done: Scalar) -> Scalar:
        return ~done & ((i < 9.0) | (a <= 9.0))

    def step(i: Scalar, a: Scalar, s: Scalar, _b: Scalar, _done: Scalar) -> Sequence[Scalar]:
        a = a + 1.0
        b = a.math("powf", -x)
        s = s + b
        return i + 1.0, a, s, b, (s * -_EPSILON < b) & (b < s * _EPSILON)

    zero = x.like(0.0)
    state = [zero, q, leading, zero, x < x]
    _, w, s, b, done = loop(state, going, step)
    s = select(done, s, s + b * w / (x - 1.0) - b * 0.5)
    factor = x.like(1.0)
    for i, coefficient in enumerate(_ZETA):
        factor, b = factor * (x + 2.0 * i), b / w
        term = factor * b / coefficient
        s = select(done, s, s + term)
        done = done | (abs(term / s) < _EPSILON)
        factor, b = factor * (x + (2.0 * i + 1.0)), b / w
    return s
