"""Airy's function Ai, as in Cephes: its power series round 0, asymptotic expansions beyond ±2.09."""

from __future__ import annotations

from collections.abc import Sequence

from ...scalars import Scalar
from ..formula import INF, NAN, PI, branch, first, formula, loop, polynomial

_AN = (
    0.346538101525629, 12.007595273964581, 76.27960536152345, 168.08922493463058, 159.75639135016442,
    70.53609068404442, 14.026469116338967, 1.0,
)  # fmt: skip
_AD = (
    0.5675945326387702, 14.75625625848472, 84.51389701414746, 177.31808814540045, 164.2346928715297,
    71.47784008255756, 14.095913560783403, 1.0,
)  # fmt: skip
_AFN = (
    -0.1316963234183318, -0.6264565444319123, -0.6931580360369335, -0.2797799815451191, -0.04919001326095003,
    -0.004062659235948854, -0.0001592764962392621, -2.776491081552329e-06, -1.6778769848911465e-08,
)  # fmt: skip
_AFD = (
    13.356042070655324, 32.682503279522464, 26.736704094149957, 9.187074029072596, 1.4752914677166642,
    0.11568717379518804, 0.004402916416152112, 7.547203482874142e-05, 4.5185009297058035e-07,
)  # fmt: skip
_AGN = (
    0.01973399320916857, 0.39110302961568827, 1.0657989759959559, 0.9391692298166502, 0.35146565610554764,
    0.06338889196289255, 0.005858041130483885, 0.000282851600836737, 6.98793669997261e-06, 8.117892395543892e-08,
    3.415517847659236e-10,
)  # fmt: skip
_AGD = (
    9.30892908077442, 19.835292871831214, 15.564662893286462, 5.476860694229755, 0.9542936116189619,
    0.08645808263523921, 0.004126565238242226, 0.00010125908511650914, 1.1716673321441352e-06, 4.9183457006293e-09,
)  # fmt: skip
_ROOT_1_OVER_PI = 0.564189583547756286948
_AT_ZERO, _SLOPE = 0.355028053887817239260, 0.258819403792806798405


@formula("special_airy_ai")
def airy_ai(x: Scalar) -> Scalar:
    inner = branch(x < -2.09, lambda: _oscillating(x), lambda: _from_series(x), of=x)
    return first((abs(x).equals(INF), NAN), (x > 103.892, 0.0), otherwise=inner)


def _oscillating(x: Scalar) -> Scalar:
    root = (-x).sqrt()
    phase = x * -2.0 * root / 3.0
    z = 1.0 / phase
    square = z * z
    even = square * polynomial(square, _AFN) / polynomial(square, _AFD) + 1.0
    odd = z * polynomial(square, _AGN) / polynomial(square, _AGD)
    t = phase + PI / 4
    return _ROOT_1_OVER_PI / root.sqrt() * (t.sin() * even - t.cos() * odd)


def _from_series(x: Scalar) -> Scalar:
    return branch(x >= 2.09, lambda: _decaying(x), lambda: _series(x), of=x)


def _decaying(x: Scalar) -> Scalar:
    root = x.sqrt()
    zeta = x * 2.0 * root / 3.0
    inverse = 1.0 / zeta
    ratio = polynomial(inverse, _AN) / polynomial(inverse, _AD)
    return ratio * _ROOT_1_OVER_PI / (root.sqrt() * 2.0 * zeta.exp())


def _series(x: Scalar) -> Scalar:
    """Ai(0) · f + Ai'(0) · g, whose terms m and n are added until f stands."""
    cube, epsilon = x * x * x, 2.0**-52 if x.is_double else 2.0**-23

    def going(_f: Scalar, _g: Scalar, _m: Scalar, _n: Scalar, _k: Scalar, change: Scalar) -> Scalar:
        return change > epsilon

    def step(f: Scalar, g: Scalar, m: Scalar, n: Scalar, k: Scalar, _: Scalar) -> Sequence[Scalar]:
        m = m * cube / (k + 1.0) / (k + 2.0)
        n = n * cube / (k + 2.0) / (k + 3.0)
        f = f + m
        return f, g + n, m, n, k + 3.0, abs(m / f)

    one = x.like(1.0)
    f, g, *_ = loop([one, x, one, x, one, one], going, step)
    return f * _AT_ZERO - g * _SLOPE
