"""The pure part of views: a strided view of dense memory as a chain of structured ops.

    chain(base shape, size, stride, offset) ─► view · slice · select · permute · view · expand, or None

The memory's offsets are written in mixed radix: the base's dims are the digits. Every dim of the view must
lie in one digit, as a slice of it, and every other digit be fixed; digits are merged or split until that
is so. None means that it can't be (overlapping windows, skewed strides): then the view is read element
by element. Tested against as_strided on random views.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

from mlirdev.graph import Arg, Size
from mlirdev.lazy.layouts import contiguous_stride

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One op on the value so far: `args` follow the tensor in the overload's schema."""

    op: str
    args: tuple[Arg, ...]
    shape: Shape


@dataclass
class _Digit:
    """Offsets o with (o // stride) % size; `dim` is the view's dim that runs over it, from `start` in
    steps of `step`, or None where the digit is fixed at `start`."""

    size: int
    stride: int
    start: int = 0
    dim: int | None = field(default=None)
    step: int = 1
    count: int = 1

    @property
    def fits(self) -> bool:
        return self.start + (self.count - 1) * self.step < self.size


@lru_cache(maxsize=65536)
def chain(base: Shape, size: Shape, stride: Shape, offset: int) -> tuple[Step, ...] | None:
    """The steps from a dense value of shape `base` to the view, or None. Neither may be empty."""
    runs = [i for i in range(len(size)) if size[i] > 1 and stride[i] > 0]
    digits = _assign(base, [(size[i], stride[i], i) for i in runs], offset)
    if digits is None:
        return None
    steps = _Steps(base)
    steps.view(tuple(d.size for d in digits))
    _cut(steps, digits)
    order = [d.dim for d in digits if d.dim is not None]
    steps.permute(tuple(order.index(i) for i in runs))
    steps.view(tuple(1 if stride[i] == 0 else n for i, n in enumerate(size)))
    steps.expand(size)
    return tuple(steps.done)


def _assign(base: Shape, dims: list[tuple[int, int, int]], offset: int) -> list[_Digit] | None:
    """Digits such that each of the view's dims (size, stride, position) runs over one of them."""
    strides = contiguous_stride(base)
    digits = [_Digit(n, s) for n, s in zip(base, strides, strict=True) if n > 1]
    cuts = [d.stride for d in digits]
    total = math.prod(base)
    # Merging is the last resort, and what is merged once stays so: each retry has fewer cuts.
    while True:
        result = _try(total, cuts, dims, offset)
        if not isinstance(result, int):
            return result
        if result not in cuts[:-1]:
            return None
        cuts.remove(result)


def _try(total: int, cuts: list[int], dims: list[tuple[int, int, int]], offset: int) -> list[_Digit] | int | None:
    """The digits of these cuts with the dims assigned; or a cut to be removed; or None."""
    digits = _digits(total, cuts, offset)
    for count, stride, position in sorted(dims, key=lambda d: d[1]):
        k = next((k for k, d in enumerate(digits) if d.stride <= stride < d.stride * d.size), None)
        if k is None:
            return None
        digit = digits[k]
        if stride % digit.stride:
            return digit.stride if digit.dim is None else None
        if digit.dim is not None:
            upper = _split(digit, stride)
            if upper is None:
                return None
            digits.insert(k, upper)
            digit = upper
        digit.dim, digit.step, digit.count = position, stride // digit.stride, count
        if not digit.fits:
            return digits[k - 1].stride if k else None
    return digits


def _digits(total: int, cuts: list[int], offset: int) -> list[_Digit]:
    digits, above = [], total
    for cut in cuts:
        digits.append(_Digit(above // cut, cut, (offset // cut) % (above // cut)))
        above = cut
    return digits


def _split(digit: _Digit, stride: int) -> _Digit | None:
    """Cut a digit that a dim runs over already at `stride`, if the dim fits below; the upper part."""
    if stride % digit.stride or (digit.size * digit.stride) % stride:
        return None
    below = stride // digit.stride
    upper = _Digit(digit.size // below, stride, digit.start // below)
    start = digit.start % below
    if start + (digit.count - 1) * digit.step >= below:
        return None
    digit.size, digit.start = below, start
    return upper


def _cut(steps: _Steps, digits: list[_Digit]) -> None:
    for k, digit in enumerate(digits):
        if digit.dim is not None:
            steps.slice(k, digit.start, digit.start + (digit.count - 1) * digit.step + 1, digit.step)
    for k in range(len(digits) - 1, -1, -1):
        if digits[k].dim is None:
            steps.select(k, digits[k].start)


class _Steps:
    """A chain under construction; steps that change nothing are left out."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.done: list[Step] = []

    def _add(self, op: str, args: tuple[Arg, ...], shape: Shape) -> None:
        self.shape = shape
        self.done.append(Step(op, args, shape))

    def view(self, shape: Shape) -> None:
        if shape != self.shape:
            self._add("aten.view.default", (sizes(shape),), shape)

    def slice(self, dim: int, start: int, end: int, step: int) -> None:
        count = len(range(start, end, step))
        if count != self.shape[dim]:
            shape = (*self.shape[:dim], count, *self.shape[dim + 1 :])
            self._add("aten.slice.Tensor", (dim, Size(start), Size(end), step), shape)

    def select(self, dim: int, index: int) -> None:
        self._add("aten.select.int", (dim, Size(index)), self.shape[:dim] + self.shape[dim + 1 :])

    def permute(self, order: Shape) -> None:
        if order != tuple(range(len(order))):
            self._add("aten.permute.default", (order,), tuple(self.shape[i] for i in order))

    def expand(self, shape: Shape) -> None:
        if shape != self.shape:
            self._add("aten.expand.default", (sizes(shape), False), shape)


def sizes(shape: Shape) -> tuple[Arg, ...]:
    """A list of sizes as an argument."""
    return tuple(Size(n) for n in shape)
