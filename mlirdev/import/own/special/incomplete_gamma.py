"""The regularised incomplete gamma functions P(a, x) and Q(a, x), by SciPy's choice of series.

    a ≈ x, both large      Temme's uniform expansion
    Q, x small             a series for 1 − Γ-term, without cancellation
    x > a                  Q by a continued fraction
    else                   P by its power series

What was computed of P and Q is subtracted from 1 where the other is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...scalars import Scalar, select
from ..formula import INF, NAN, branch, first, fma, formula, lookup, loop, polynomial
from .gamma import lgamma
from .igamma_table import COEFFICIENTS

# Lanczos' approximation of Γ(x) (x/e + g)^−(x − ½), as a ratio of polynomials: Boost's; the highest power is first.
_LANCZOS_P = (
    0.006061842346248907, 0.5098416655656676, 19.519927882476175, 449.9445569063168, 6955.999602515376,
    75999.29304014542, 601859.6171681099, 3481712.154980646, 14605578.087685067, 43338889.32467614, 86363131.2881386,
    103794043.11634454, 56906521.913471565,
)  # fmt: skip
_LANCZOS_Q = (
    1.0, 66.0, 1925.0, 32670.0, 357423.0, 2637558.0, 13339535.0, 45995730.0, 105258076.0, 150917976.0, 120543840.0,
    39916800.0, 0.0,
)  # fmt: skip
_LANCZOS_G = 6.024680040776729583740234375
_E = 2.718281828459045
_MOST_STEPS = 2000
_EXPANSION = 25


def _epsilon(x: Scalar) -> float:
    return 2.0**-53 if x.is_double else 2.0**-24


@formula("igamma")
def igamma(a: Scalar, x: Scalar) -> Scalar:
    return _regularised(a, x, lower=True)


@formula("igammac")
def igammac(a: Scalar, x: Scalar) -> Scalar:
    return _regularised(a, x, lower=False)


def _regularised(a: Scalar, x: Scalar, lower: bool) -> Scalar:
    """P(a, x), or Q(a, x); the values at the border first."""
    nothing, all_ = (0.0, 1.0) if lower else (1.0, 0.0)
    a_infinite, x_infinite = a.equals(INF), x.equals(INF)
    undefined = (x < 0.0) | (a < 0.0) | (a.equals(0.0) & ~(x > 0.0)) | (a_infinite & x_infinite)
    none = x.equals(0.0) | a_infinite
    whole = x_infinite | a.equals(0.0)
    border = undefined | none | whole | a.is_nan() | x.is_nan()
    result = branch(border, lambda: a + x, lambda: _inside(a, x, lower), of=x)
    return first((undefined, NAN), (a.equals(0.0), all_), (none, nothing), (whole, all_), otherwise=result)


def _inside(a: Scalar, x: Scalar, lower: bool) -> Scalar:
    distance = abs(x - a) / a
    medium = (a > 20.0) & (a < 200.0) & (distance < 0.3)
    uniform = medium | ((a > 200.0) & (distance < 4.5 / a.sqrt()))
    return branch(uniform, lambda: _uniform(a, x, lower), lambda: _by_series(a, x, lower), of=x)


def _by_series(a: Scalar, x: Scalar, lower: bool) -> Scalar:
    """The way is the one that Q takes, but for P where x is not beyond both 1 and a: that is always its own series."""
    power = select(x > 1.1, x < a, select(x <= 0.5, -0.4 / x.log() < a, x * 1.1 < a))
    if lower:
        power = power | ~((x > 1.0) & (x > a))
    small = ~power & (x <= 1.1)
    upper = branch(small, lambda: _q_series(a, x), lambda: _with_factor(a, x, power), of=x)
    return select(power, upper, 1.0 - upper) if lower else select(power, 1.0 - upper, upper)


def _with_factor(a: Scalar, x: Scalar, power: Scalar) -> Scalar:
    """P by the power series, or Q by the continued fraction: both times x^a e^−x / Γ(a)."""
    factor = _factor(a, x)
    value = branch(power, lambda: _p_series(a, x) * factor / a, lambda: _q_fraction(a, x) * factor, of=x)
    return select(factor.equals(0.0), 0.0, value)


def _factor(a: Scalar, x: Scalar) -> Scalar:
    far = abs(a - x) > abs(a) * 0.4
    return branch(far, lambda: _factor_far(a, x), lambda: _factor_near(a, x), of=x)


def _factor_far(a: Scalar, x: Scalar) -> Scalar:
    exponent = fma(a, x.log(), -x) - lgamma(a)
    return select(exponent < (-709.782712893383996843 if x.is_double else -88.72283905206835), 0.0, exponent.exp())


def _factor_near(a: Scalar, x: Scalar) -> Scalar:
    shifted = a + _LANCZOS_G - 0.5
    root = (shifted / _E).sqrt() / _lanczos(a)
    ratio = (x - a - _LANCZOS_G + 0.5) / shifted
    exponent = a * (ratio.math("log1p") - ratio) + x * (0.5 - _LANCZOS_G) / shifted
    small = (a - x).exp() * (x / shifted).math("powf", a)
    return root * select((a < 200.0) & (x < 200.0), small, exponent.exp())


def _lanczos(x: Scalar) -> Scalar:
    """Beyond 1 in powers of 1/x."""
    beyond = abs(x) > 1.0
    y = select(beyond, 1.0 / x, x)
    ratio = polynomial(y, _LANCZOS_P) / polynomial(y, _LANCZOS_Q)
    inverse = polynomial(y, _LANCZOS_P[::-1]) / polynomial(y, _LANCZOS_Q[::-1])
    return select(beyond, inverse, ratio)


def _p_series(a: Scalar, x: Scalar) -> Scalar:
    """Σ x^k / ((a + 1) … (a + k)), DLMF 8.11.4."""
    epsilon = _epsilon(x)

    def going(i: Scalar, _r: Scalar, term: Scalar, total: Scalar) -> Scalar:
        return i.equals(0.0) | ((i < float(_MOST_STEPS)) & ~(term <= total * epsilon))

    def step(i: Scalar, r: Scalar, term: Scalar, total: Scalar) -> Sequence[Scalar]:
        term = term * (x / (r + 1.0))
        return i + 1.0, r + 1.0, term, total + term

    return loop([x.like(0.0), a, x.like(1.0), x.like(1.0)], going, step)[3]


def _q_series(a: Scalar, x: Scalar) -> Scalar:
    """DLMF 8.7.3, arranged so that nothing cancels."""
    epsilon = _epsilon(x)

    def going(n: Scalar, _: Scalar, term: Scalar, total: Scalar) -> Scalar:
        return n.equals(1.0) | ((n < float(_MOST_STEPS)) & ~(abs(term) <= abs(total) * epsilon))

    def step(n: Scalar, factor: Scalar, _: Scalar, total: Scalar) -> Sequence[Scalar]:
        factor = factor * (-x / n)
        term = factor / (a + n)
        return n + 1.0, factor, term, total + term

    total = loop([x.like(1.0), x.like(1.0), x.like(0.0), x.like(0.0)], going, step)[3]
    log = x.log()
    return -fma(a, log, -lgamma(a + 1.0)).math("expm1") - fma(a, log, -lgamma(a)).exp() * total


def _q_fraction(a: Scalar, x: Scalar) -> Scalar:
    """DLMF 8.9.2 by Wallis' recurrence; numerators and denominators are scaled down together where they grow."""
    epsilon = _epsilon(x)
    big, scale = (2.0**52, 2.0**-52) if x.is_double else (2.0**24, 2.0**-24)

    def going(c: Scalar, change: Scalar, *_: Scalar) -> Scalar:
        return (c < float(_MOST_STEPS)) & ~(change <= epsilon)

    def step(c: Scalar, _: Scalar, value: Scalar, p1: Scalar, p2: Scalar, q1: Scalar, q2: Scalar) -> Sequence[Scalar]:
        c = c + 1.0
        y, z = 1.0 - a + c, x + (1.0 - a) + 1.0 + c * 2.0
        p, q = p1 * z - p2 * (y * c), q1 * z - q2 * (y * c)
        ratio, defined = p / q, q.differs(0.0)
        change = select(defined, abs((value - ratio) / ratio), 1.0)
        factor = select(abs(p) > big, x.like(scale), 1.0)
        return c, change, select(defined, ratio, value), p * factor, p1 * factor, q * factor, q1 * factor

    p1, q1 = x + 1.0, (x + (1.0 - a) + 1.0) * x
    return loop([x.like(0.0), x.like(1.0), p1 / q1, p1, x.like(1.0), q1, x], going, step)[2]


def _uniform(a: Scalar, x: Scalar, lower: bool) -> Scalar:
    """DLMF 8.12.3 and 8.12.4. √2πa has π as a float in both precisions, as on the CPU."""
    sign = -1.0 if lower else 1.0
    ratio, sigma = x / a, (x - a) / a
    root = ((sigma.math("log1p") - sigma) * -2.0).sqrt()
    eta = first((ratio > 1.0, root), (ratio < 1.0, -root), otherwise=x.like(0.0))
    leading = (eta * sign * (a / 2.0).sqrt()).math("erfc") * 0.5
    rest = (a * -0.5 * eta * eta).exp() * sign * _expansion(a, eta) / (a * (2.0 * _PI_F32)).sqrt()
    return leading + rest


_PI_F32 = 3.1415927410125732


def _expansion(a: Scalar, eta: Scalar) -> Scalar:
    """Σ_k a^−k Σ_n d[k, n] η^n, until the terms grow or no longer count."""
    zero, one, epsilon = eta.like(0.0), eta.like(1.0), _epsilon(eta)

    def going(k: Scalar, _power: Scalar, _old: Scalar, _total: Scalar, done: Scalar) -> Scalar:
        return (k < _EXPANSION) & ~done

    def step(k: Scalar, power: Scalar, old: Scalar, total: Scalar, _: Scalar) -> Sequence[Scalar]:
        term = _row(k, eta) * power
        size = abs(term)
        grows = size > old
        total = select(grows, total, total + term)
        return k + 1, power / a, size, total, grows | (size < abs(total) * epsilon)

    start = _integer(eta, 0)
    return loop([start, one, one / zero, zero, one < zero], going, step)[3]


def _row(k: Scalar, eta: Scalar) -> Scalar:
    epsilon, base = _epsilon(eta), k * _EXPANSION

    def going(n: Scalar, _power: Scalar, _total: Scalar, done: Scalar) -> Scalar:
        return (n < _EXPANSION) & ~done

    def step(n: Scalar, power: Scalar, total: Scalar, _: Scalar) -> Sequence[Scalar]:
        term = lookup(COEFFICIENTS, base + n, of=eta) * power
        total = total + term
        return n + 1, power * eta, total, abs(term) < abs(total) * epsilon

    return loop([k.like(1), eta, lookup(COEFFICIENTS, base, of=eta), eta < eta], going, step)[2]


def _integer(x: Scalar, value: int) -> Scalar:
    return Scalar(x.e, x.e.constant(value, x.e.i64))
