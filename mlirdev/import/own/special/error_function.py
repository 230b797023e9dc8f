"""The scaled complementary error function, and the normal distribution's quantile and log of its distribution."""

from __future__ import annotations

from ...scalars import Scalar, select
from ..formula import INF, NAN, first, fma, formula, lookup, polynomial
from .erfcx_table import COEFFICIENTS

_P0 = (
    -59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125,
)  # fmt: skip
_Q0 = (
    1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937, 200.26021238006066,
    -82.03722561683334, 15.90562251262117, -1.1833162112133,
)  # fmt: skip
_P1 = (
    4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008, 14.684956192885803,
    2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854,
)  # fmt: skip
_Q1 = (
    1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075, 2.504649462083094,
    -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574,
)  # fmt: skip
_P2 = (
    3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755, 0.20148538954917908,
    0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09,
)  # fmt: skip
_Q2 = (
    1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663, 0.013420400608854318,
    0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09,
)  # fmt: skip
_1_OVER_ROOT_PI = 0.56418958354775628694807945156
_ROOT_2PI = 2.50662827463100050242
_ROOT_HALF = 0.70710678118654752440
_EXP_MINUS_2 = 0.13533528323661269189


@formula("special_erfcx")
def erfcx(x: Scalar) -> Scalar:
    """Below 0: 2 exp(x²) − erfcx(−x). From 50 on: a continued fraction, in f64 as on the CPU."""
    a = abs(x)
    square = x * x
    wide, wide_square = a.double(), square.double()
    numerator = square.double() * (wide_square + 4.5) + 2.0
    fraction = numerator * _1_OVER_ROOT_PI / (wide * (square.double() * (wide_square + 5.0) + 3.75))
    one_term = x.like(_1_OVER_ROOT_PI) / x
    middle = _by_table(400.0 / (a + 4.0))
    positive = first((x > 5e7, one_term), (x > 50.0, fraction.as_type_of(x)), otherwise=middle)
    double_exp = square.exp() * 2.0
    negative = first((x < -26.7, INF), (x < -6.1, double_exp), otherwise=double_exp - middle)
    return first((x.is_nan(), x), (x >= 0.0, positive), otherwise=negative)


def _by_table(y100: Scalar) -> Scalar:
    """erfcx in 100 y; the coefficients are f64, and so is the polynomial."""
    inside = (y100 >= 0.0) & (y100 < 100.0)
    row = select(inside, y100, 0.0).whole()
    t = (y100 * 2.0 - (row.as_type_of(y100) * 2.0 + 1.0)).double()
    place = row * 7
    result = lookup(COEFFICIENTS, place + 6, of=t)
    for power in range(5, -1, -1):
        result = fma(result, t, lookup(COEFFICIENTS, place + power, of=t))
    return select(inside, result.as_type_of(y100), 1.0)


@formula("special_log_ndtr")
def log_ndtr(x: Scalar) -> Scalar:
    t = x * _ROOT_HALF
    tail = (erfcx(-t) / 2.0).log() - t * t
    return select(x < -1.0, tail, (-t.math("erfc") / 2.0).math("log1p"))


@formula("special_ndtri")
def ndtri(p: Scalar) -> Scalar:
    """The x below which the normal distribution has the share p."""
    upper = p > p.like(1.0) - p.like(_EXP_MINUS_2)
    y = select(upper, 1.0 - p, p)
    centre = y - 0.5
    square = centre * centre
    central = centre + centre * (square * polynomial(square, _P0) / polynomial(square, _Q0))
    x = (y.log() * -2.0).sqrt()
    z = 1.0 / x
    near = z * polynomial(z, _P1) / polynomial(z, _Q1)
    far = z * polynomial(z, _P2) / polynomial(z, _Q2)
    tail = x - x.log() / x - select(x < 8.0, near, far)
    result = select(y > _EXP_MINUS_2, central * _ROOT_2PI, select(upper, tail, -tail))
    return first((p.equals(0.0), -INF), (p.equals(1.0), INF), ((p < 0.0) | (p > 1.0), NAN), otherwise=result)
