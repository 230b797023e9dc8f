"""erf and erfc in f32."""

from __future__ import annotations

from mlirdev.jit.maths.builder import Value, absolute, at_most, copysign, fma, polynomial, select
from mlirdev.jit.maths.exponential import exp

# erf a = a + a·P(a²) below the seam; 1 − e^(−a + a·Q(a)) above it; both minimax.
_SEAM = 0.927734375
_P = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
_Q = (
    -1.72853470e-5,
    3.83197126e-4,
    -3.88396438e-3,
    2.42546219e-2,
    -1.06777877e-1,
    -6.34846687e-1,
    -1.28717512e-1,
)
# From here on erf is 1 to the last bit.
_ONE = 4.0

# erfc a = e^(−a²) · (1 + R(q)) / (1 + 2a) with q = (a − 2) / (a + 2), fitted on [0, 10.2] to 1.4e-8
_R = (
    -0.00039944949802105215,
    -0.001228002168383477,
    0.0013133098910797615,
    0.008630097372810334,
    -0.008060143025990313,
    -0.05420388393075516,
    0.16405542551268515,
    -0.1660314609639369,
    -0.09276398501713444,
    0.27697839396639756,
)
# Below this erfc is better taken as 1 − erf.
_ERFC_SEAM = 0.5
# From here on erfc is 0, even as a denormal.
_ZERO = 10.1


def _inner_erf(x: Value) -> Value:
    return fma(polynomial(x * x, *_P), x, x)


def erf(x: Value) -> Value:
    a = absolute(x)
    outer_a = at_most(a, _ONE)
    outer = 1.0 - exp(fma(polynomial(outer_a, *_Q), outer_a, -outer_a))
    return select(a > _SEAM, copysign(outer, x), _inner_erf(x))


def erfc(x: Value) -> Value:
    a = at_most(absolute(x), _ZERO)
    # a² in two parts, of which the first is exact: a's first 12 bits squared
    first = (a.bits() & -0x1000).as_float()
    power = exp(-(first * first), rest=(first - a) * (first + a))
    q = (a - 2.0) / (a + 2.0)
    positive = power * ((polynomial(q, *_R) + 1.0) / fma(a, 2.0, 1.0))
    outer = select(x < 0.0, 2.0 - positive, positive)
    return select(a < _ERFC_SEAM, 1.0 - _inner_erf(x), outer)
