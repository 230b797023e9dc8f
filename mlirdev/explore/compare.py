"""Is a result what it should be? Arrays compared within what rounding explains.

A float may differ from the reference by

    16 · noise  +  16 · eps · |reference|  +  4 · eps · scale

`noise` is how far the reference itself is from the same computation in the other precision (float64; float32 for a
float64 result, scaled by the ratio of their eps): at the element, and what nearly all elements stay below. It grows
with the length of sums and with cancellation as the kernel's own rounding does. `eps` is the dtype's. `scale` is the
largest number that went into the last op times the square root of how many went into one result; it counts for results
of few elements, where one sample of noise may happen to be zero, and for sums of many numbers, which eager adds up
pairwise (`scale_of`). A number that equals either reference so closely is right, which admits rounding at a jump.
Whole numbers and bools must be equal, but for one in a thousand that comes from floats. NaN stands
for NaN, infinity for infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirdev.dtypes import DType

Array = np.ndarray[Any, Any]

EPS = {
    DType.f64: 2.0**-52,
    DType.f32: 2.0**-23,
    DType.f16: 2.0**-10,
    DType.bf16: 2.0**-7,
    DType.f8e5m2: 2.0**-2,
    DType.f8e4m3fn: 2.0**-3,
    DType.c64: 2.0**-23,
    DType.c128: 2.0**-52,
}
_FACTOR = 16.0
_FACTOR_OF_SCALE = 4.0
_FEW, _MANY = 16, 64
_NEARLY_ALL = 0.99
_STRAY = 1000


@dataclass(frozen=True)
class Difference:
    """The first element that differs; `count` of `size` do. `allowed` is what would have passed there."""

    index: tuple[int, ...]
    got: Any
    wanted: Any
    count: int
    size: int
    allowed: float

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]" if self.index else "the number"
        margin = f", give or take {self.allowed:.2g}" if self.allowed else ""
        return (
            f"at {place}: got {self.got!s}, wanted {self.wanted!s}{margin} "
            f"({self.count} of {self.size} elements differ)"
        )


def difference(
    got: Array, wanted: Array, dtype: DType, other: Array | None = None, scale: float = 0.0, from_floats: bool = True
) -> Difference | None:
    """Where `got` isn't `wanted`, if anywhere. `other` is the reference in the other precision, if there is one;
    `from_floats` says whether whole numbers come from floats."""
    if dtype not in EPS:
        return _of_integers(got, wanted, other, from_floats)
    with np.errstate(all="ignore"):
        allowed = _allowed(wanted, dtype, other, scale)
        wrong = _far(got, wanted, allowed)
        if other is not None:
            wrong &= _far(got, other, allowed)
    return _first(got, wanted, wrong, allowed)


def scale_of(largest: float, operands: int, results: int) -> float:
    """The `scale` of a result of so many elements, made of operands whose largest number is `largest` and of which the
    longest has so many."""
    each = operands / max(results, 1)
    return largest * each**0.5 if results <= _FEW or each >= _MANY else 0.0


def _allowed(wanted: Array, dtype: DType, other: Array | None, scale: float) -> Array:
    eps = EPS[dtype]
    finer = eps / EPS[DType.f32] if eps < EPS[DType.f32] else 1.0
    noise = 0.0 if other is None else _noise(wanted, other) * finer
    magnitude = np.where(np.isfinite(wanted), np.abs(wanted), 0).astype(np.float64)
    result: Array = _FACTOR * noise + _FACTOR * eps * magnitude + _FACTOR_OF_SCALE * eps * scale + _smallest(dtype)
    return result


def _noise(wanted: Array, other: Array) -> Array:
    """The distance of the two references at each element, and with it the usual one, where both are numbers."""
    apart = np.abs(wanted.astype(np.complex128 if np.iscomplexobj(wanted) else np.float64) - other)
    numbers = apart[np.isfinite(apart)]
    usual = (numbers.max() if numbers.size <= _FEW else np.quantile(numbers, _NEARLY_ALL)) if numbers.size else 0.0
    result: Array = np.where(np.isfinite(apart), apart, 0) + usual
    return result


def _smallest(dtype: DType) -> float:
    """Numbers near the smallest of the type may be zero: kernels may flush what is subnormal."""
    return {DType.f64: 2.0**-1022, DType.c128: 2.0**-1022, DType.f16: 2.0**-14}.get(dtype, 2.0**-126)


def _far(got: Array, wanted: Array, allowed: Array) -> Array:
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    far: Array = ~(same | (np.abs(got.astype(wanted.dtype) - wanted) <= allowed))
    return far


def _of_integers(got: Array, wanted: Array, other: Array | None, from_floats: bool) -> Difference | None:
    wrong = got != wanted
    if other is not None:
        wrong &= got != other.astype(got.dtype)
    strays = wanted.size // _STRAY if from_floats else 0
    return None if wrong.sum() <= strays else _first(got, wanted, wrong, np.zeros(wanted.shape))


def _first(got: Array, wanted: Array, wrong: Array, allowed: Array) -> Difference | None:
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return Difference(index, got[index], wanted[index], int(wrong.sum()), wrong.size, float(allowed[index]))
