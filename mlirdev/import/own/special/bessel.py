"""Bessel functions of the first and second kind, orders 0 and 1: rational functions up to 5, Hankel's expansion beyond.

The formulas and coefficients are those of Cephes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...scalars import Scalar, select
from ..formula import INF, NAN, PI, first, formula, polynomial

Coefficients = Sequence[float]

_J0_PP = (
    0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817,
    5.303240382353949, 1.0,
)  # fmt: skip
_J0_PQ = (
    0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695,
    5.306052882353947, 1.0,
)  # fmt: skip
_J0_QP = (
    -0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683, -177.68116798048806,
    -147.07750515495118, -51.41053267665993, -6.050143506007285,
)  # fmt: skip
_J0_QQ = (
    64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169, 2062.0933166032783,
    242.0057402402914,
)  # fmt: skip
_J0_RP = (
    -4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0,
)  # fmt: skip
_J0_RQ = (
    499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892, 310518229857422.56,
    3.1812195594320496e+16, 1.7108629408104315e+18,
)  # fmt: skip
_Y0_P = (
    15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115, 87590639439536.7,
    -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16,
)  # fmt: skip
_Y0_Q = (
    1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935, 20297961275010.555,
    3171577528429750.5, 2.5059625617265306e+17,
)  # fmt: skip
_J1_PP = (
    0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724,
    5.214515986823615, 1.0,
)  # fmt: skip
_J1_PQ = (
    0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042,
    5.209828486823619, 1.0,
)  # fmt: skip
_J1_QP = (
    0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508, 710.8563049989261,
    597.4896124006136, 211.68875710057213, 25.207020585802372,
)  # fmt: skip
_J1_QQ = (
    74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562, 7997.041604473507,
    2826.1927851763908, 336.0936078106983,
)  # fmt: skip
_J1_RP = (
    -899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0,
)  # fmt: skip
_J1_RQ = (
    620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925, 4749141220799.914, 784369607876235.9,
    8.952223361846274e+16, 5.322786203326801e+18,
)  # fmt: skip
_Y1_P = (
    1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0, 2.024394757135949e+17,
    -7.788771962659501e+17,
)  # fmt: skip
_Y1_Q = (
    594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617, 3882312774962.3857,
    620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18,
)  # fmt: skip
_HANKEL_0: tuple[Coefficients, ...] = (_J0_PP, _J0_PQ, _J0_QP, _J0_QQ)
_HANKEL_1: tuple[Coefficients, ...] = (_J1_PP, _J1_PQ, _J1_QP, _J1_QQ)
_ROOT_2_OVER_PI = 0.797884560802865355879892119868763737
_2_OVER_PI = 0.636619772367581343075535053490057448
# Squares of the first two zeros of J0, and of J1.
_J0_ZEROS = (5.78318596294678452118, 30.4712623436620863991)
_J1_ZEROS = (14.6819706421238932572, 49.2184563216946036703)


def _modulus_and_phase(x: Scalar, z: Scalar, tables: tuple[Coefficients, ...], phase: float) -> tuple[Scalar, ...]:
    """P, 5/x · Q, cosine and sine of Hankel's expansion; z is (5/x)²."""
    pp, pq, qp, qq = (polynomial(z, t) for t in tables)
    shifted = x - phase
    return pp / pq, x.like(5.0) / x * (qp / qq), shifted.cos(), shifted.sin()


def _first_kind(x: Scalar, z: Scalar, tables: tuple[Coefficients, ...], phase: float) -> Scalar:
    p, q, cosine, sine = _modulus_and_phase(x, z, tables, phase)
    return (p * cosine - q * sine) * _ROOT_2_OVER_PI / x.sqrt()


def _second_kind(x: Scalar, z: Scalar, tables: tuple[Coefficients, ...], phase: float) -> Scalar:
    p, q, cosine, sine = _modulus_and_phase(x, z, tables, phase)
    return (p * sine + q * cosine) * _ROOT_2_OVER_PI / x.sqrt()


def _j0_up_to_five(x: Scalar) -> Scalar:
    square = x * x
    ratio = (square - _J0_ZEROS[0]) * (square - _J0_ZEROS[1]) * polynomial(square, _J0_RP) / polynomial(square, _J0_RQ)
    return select(x < 0.00001, 1.0 - square / 4.0, ratio)


def _j1_up_to_five(x: Scalar) -> Scalar:
    square = x * x
    ratio = polynomial(square, _J1_RP) / polynomial(square, _J1_RQ)
    return ratio * x * (square - _J1_ZEROS[0]) * (square - _J1_ZEROS[1])


def _five_over(x: Scalar) -> Scalar:
    ratio = 5.0 / x
    return ratio * ratio


@formula("special_bessel_j0")
def bessel_j0(x: Scalar) -> Scalar:
    x = select(x < 0.0, -x, x)
    return select(x <= 5.0, _j0_up_to_five(x), _first_kind(x, 25.0 / (x * x), _HANKEL_0, PI / 4))


@formula("special_bessel_j1")
def bessel_j1(x: Scalar) -> Scalar:
    negative = x < 0.0
    x = select(negative, -x, x)
    result = select(x <= 5.0, _j1_up_to_five(x), _first_kind(x, _five_over(x), _HANKEL_1, PI * 0.75))
    return select(negative, -result, result)


@formula("special_bessel_y0")
def bessel_y0(x: Scalar) -> Scalar:
    square = x * x
    small = polynomial(square, _Y0_P) / polynomial(square, _Y0_Q) + x.log() * _2_OVER_PI * _j0_up_to_five(x)
    large = _second_kind(x, 25.0 / square, _HANKEL_0, PI / 4)
    return first((x.equals(0.0), -INF), (x < 0.0, NAN), (x <= 5.0, small), otherwise=large)


@formula("special_bessel_y1")
def bessel_y1(x: Scalar) -> Scalar:
    square = x * x
    ratio = polynomial(square, _Y1_P) / polynomial(square, _Y1_Q)
    small = x * ratio + (_j1_up_to_five(x) * x.log() - 1.0 / x) * _2_OVER_PI
    large = _second_kind(x, _five_over(x), _HANKEL_1, PI * 0.75)
    return first((x.equals(0.0), -INF), (x < 0.0, NAN), (x <= 5.0, small), otherwise=large)


# sin x / x by Taylor's series: 1/13!, …, −1/3!, 1 in powers of x².
_SPHERICAL_J0 = (
    1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0,
)  # fmt: skip


@formula("special_spherical_bessel_j0")
def spherical_bessel_j0(x: Scalar) -> Scalar:
    small = polynomial(x * x, _SPHERICAL_J0)
    return first((abs(x).equals(INF), 0.0), (abs(x) < 0.5, small), otherwise=x.sin() / x)
