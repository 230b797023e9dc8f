"""Orthogonal polynomials of a degree that is an operand: by recurrence; Chebyshev's inside (−1, 1) by their angle.

The degree is cut to an i64; negative ones give 0, as on the CPU. The recurrences stop at NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...scalars import Scalar, select
from ..formula import NAN, first, fma, formula, loop


def _recurrence(
    n: Scalar, start: int, linear: Scalar, step: Callable[[Scalar, Scalar, Scalar], Scalar], to_nan: bool = False
) -> Scalar:
    """p₀ = 1, p₁ = linear, and from k = `start` below n on: step(k, p_k, p_k−1)."""

    def going(k: Scalar, q: Scalar, _: Scalar) -> Scalar:
        return k < n if to_nan else (k < n) & ~q.is_nan()

    def next_(k: Scalar, q: Scalar, p: Scalar) -> Sequence[Scalar]:
        return k + 1, step(k, q, p), q

    _, q, _ = loop([n.like(start), linear, linear.like(1.0)], going, next_)
    return select(n.equals(0), 1.0, q)


def _is_even(n: Scalar) -> Scalar:
    return (n & n.like(1)).equals(0)


# --- Chebyshev --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """offset: p₁ = 2y + offset; None is the first kind's y. At y = 1 and ±at y = −1 the value is 1, n + 1 or 2n + 1."""

    offset: float | None
    at_one: Callable[[Scalar], Scalar]
    at_minus_one: Callable[[Scalar], Scalar]
    by_angle: Callable[[Scalar, Scalar, Scalar, bool], Scalar]
    # From which degree on the angle is used: of the polynomial, of the shifted one.
    limits: tuple[int, int]


def _one(n: Scalar) -> Scalar:
    return n.like(1)


def _n_plus_one(n: Scalar) -> Scalar:
    return n + 1


def _two_n_plus_one(n: Scalar) -> Scalar:
    return n + n + 1


def _alternating(n: Scalar, value: Scalar) -> Scalar:
    return select(_is_even(n), value, 0 - value)


def _t_by_angle(y: Scalar, n: Scalar, angle: Scalar, _: bool) -> Scalar:
    return (n.as_type_of(y) * angle).cos()


def _u_by_angle(y: Scalar, n: Scalar, angle: Scalar, _: bool) -> Scalar:
    degree, sine = (n + 1).as_type_of(y), angle.sin()
    total = degree * angle
    return select(sine.differs(0.0), total.sin() / sine, degree * total.cos() / y)


def _v_by_angle(y: Scalar, n: Scalar, angle: Scalar, _: bool) -> Scalar:
    half = angle / 2.0
    inside = ((n.as_type_of(y) + 0.5) * angle).cos() / half.cos()
    return select(half.sin().differs(1.0), inside, _alternating(n, n + n + 1).as_type_of(y))


def _w_by_angle(y: Scalar, n: Scalar, angle: Scalar, shifted: bool) -> Scalar:
    half = angle / 2.0
    inside = ((n.as_type_of(y) + 0.5) * angle).sin() / half.sin()
    sign = _alternating(n, n.like(1)).as_type_of(y)
    at_end = sign if shifted else select(y > 0.0, (n + n + 1).as_type_of(y), sign)
    return select(half.cos().differs(1.0), inside, at_end)


def _angle(y: Scalar) -> Scalar:
    """By f64: the degree multiplies its error."""
    return y.double().math("acos").as_type_of(y)


_KINDS = {
    "t": _Kind(None, _one, _one, _t_by_angle, (6, 6)),
    "u": _Kind(0.0, _n_plus_one, _n_plus_one, _u_by_angle, (8, 6)),
    "v": _Kind(-1.0, _one, _two_n_plus_one, _v_by_angle, (8, 6)),
    "w": _Kind(1.0, _two_n_plus_one, _one, _w_by_angle, (8, 4)),
}


def _chebyshev(kind: _Kind, shifted: bool) -> Callable[[Scalar, Scalar], Scalar]:
    def value(x: Scalar, degree: Scalar) -> Scalar:
        n = degree.whole()
        y = fma(x, 2.0, -1.0) if shifted else x
        twice = y + y
        linear = y if kind.offset is None else twice + kind.offset
        negative, at_one, at_minus_one = n < 0, y.equals(1.0), y.equals(-1.0)
        by_angle = (n > kind.limits[shifted]) & (abs(y) < 1.0)
        steps = select(negative | at_one | at_minus_one | by_angle, 1, n)
        recurrence = _recurrence(steps, 1, linear, lambda _, q, p: fma(twice, q, -p))
        return first(
            (negative, 0.0),
            (at_one, kind.at_one(n).as_type_of(x)),
            (at_minus_one, _alternating(n, kind.at_minus_one(n)).as_type_of(x)),
            (by_angle, kind.by_angle(y, n, _angle(y), shifted)),
            otherwise=recurrence,
        )

    return value


for _name, _kind in _KINDS.items():
    formula(f"special_chebyshev_polynomial_{_name}")(_chebyshev(_kind, shifted=False))
    formula(f"special_shifted_chebyshev_polynomial_{_name}")(_chebyshev(_kind, shifted=True))


# --- the others -------------------------------------------------------------------------------------


def _hermite(x: Scalar, n: Scalar, linear: Scalar, factor: int) -> Scalar:
    """p_k+1 = factor · (x p_k − k p_k−1); past the limit, where it overflows for certain, NaN."""

    def step(k: Scalar, q: Scalar, p: Scalar) -> Scalar:
        return fma(linear, q, -((k * factor).as_type_of(x) * p))

    beyond = n > (512 if x.is_double else 128)
    value = _recurrence(select(beyond, 0, n), 1, linear, step, to_nan=True)
    return first((n < 0, 0.0), (beyond, NAN), otherwise=value)


@formula("special_hermite_polynomial_h")
def hermite_polynomial_h(x: Scalar, degree: Scalar) -> Scalar:
    return _hermite(x, degree.whole(), x + x, 2)


@formula("special_hermite_polynomial_he")
def hermite_polynomial_he(x: Scalar, degree: Scalar) -> Scalar:
    return _hermite(x, degree.whole(), x, 1)


@formula("special_laguerre_polynomial_l")
def laguerre_polynomial_l(x: Scalar, degree: Scalar) -> Scalar:
    n, linear = degree.whole(), 1.0 - x

    def step(k: Scalar, q: Scalar, p: Scalar) -> Scalar:
        upper = fma((k + k).as_type_of(x) + linear, q, -(k.as_type_of(x) * p))
        return upper / (k + 1).as_type_of(x)

    zero = x.equals(0.0)
    return first((n < 0, 0.0), (zero, 1.0), otherwise=_recurrence(select(zero, 0, n), 1, linear, step))


@formula("special_legendre_polynomial_p")
def legendre_polynomial_p(x: Scalar, degree: Scalar) -> Scalar:
    n = degree.whole()

    def step(k: Scalar, q: Scalar, p: Scalar) -> Scalar:
        upper = fma((k + k + 1).as_type_of(x) * x, q, -(k.as_type_of(x) * p))
        return upper / (k + 1).as_type_of(x)

    at_one, at_minus_one = x.equals(1.0), x.equals(-1.0)
    value = _recurrence(select(at_one | at_minus_one, 0, n), 1, x, step)
    sign = _alternating(n, n.like(1)).as_type_of(x)
    return first((n < 0, 0.0), (at_one, 1.0), (at_minus_one, sign), otherwise=value)
