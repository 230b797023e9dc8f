"""Random ops: Philox words, made into distributions by ordinary ops.

    words ──► uniform [0, 1) ──► normal (Box–Muller), bernoulli, exponential, …
      └─────► integers

In-place overloads are written here; PyTorch's own factories (rand, randn, randint, …) come down to them.
Ops that draw without a way of ours (poisson, binomial, …) run on the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mlirdev.graph import Ref, ScalarRef
from mlirdev.lazy import generators, views
from mlirdev.lazy.chain import Shape, sizes
from mlirdev.lazy.composites.copies import copy_stride
from mlirdev.lazy.composites.draw_checks import (
    DIGITS,
    bounds_of_integers,
    check_continuous,
    check_permutation,
    check_uniform,
)
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import Layout, layout_of
from mlirdev.lazy.operands import check_device
from mlirdev.lazy.overloads import named, op
from mlirdev.lazy.record import record
from mlirdev.lazy.rng import signed
from mlirdev.lazy.specs.checks import DTYPE_NAMES, not_implemented, refuse_unless
from mlirdev.lazy.storage import new_tensor, read, relabelled, write
from mlirdev.lazy.trace import Cell, Entry
from mlirdev.plan import BERNOULLI_PROBABILITY, DEVIATION

_entries: dict[Layout, Entry] = {}
_products: dict[Layout, Entry] = {}


def words(shape: Shape, generator: torch.Generator | None) -> Cell:
    """Random 32-bit words, as i64."""
    layout = layout_of(shape, torch.int64)
    entry = _entries.get(layout)
    if entry is None:
        template = (ScalarRef(0), ScalarRef(1), sizes(shape))
        entry = _entries[layout] = Entry("mlirdev.philox", template, 0, ("int", "int"), (layout,))
    return record(entry, (), generators.state_of(generator).take(-(-math.prod(shape) // 4)))[0]


def uniform(shape: Shape, dtype: torch.dtype, generator: torch.Generator | None) -> Cell:
    """Uniform in [0, 1), of as many random bits as the dtype has; of halves, in f32."""
    if dtype is torch.float64:
        return _uniform53(shape, generator)
    digits = DIGITS[dtype]
    bits = op("aten.bitwise_right_shift.Tensor_Scalar", words(shape, generator), 32 - digits)
    return op("aten.mul.Scalar", views.cast(bits, torch.float32), 2.0**-digits)


def _uniform53(shape: Shape, generator: torch.Generator | None) -> Cell:
    high = op("aten.bitwise_right_shift.Tensor_Scalar", words(shape, generator), 5)
    low = op("aten.bitwise_right_shift.Tensor_Scalar", words(shape, generator), 6)
    both = op("aten.add.Tensor", op("aten.mul.Scalar", high, 1 << 26), low)
    return op("aten.mul.Scalar", views.cast(both, torch.float64), 2.0**-53)


def open_uniform(shape: Shape, dtype: torch.dtype, generator: torch.Generator | None) -> Cell:
    """Uniform in (0, 1]."""
    return op("aten.rsub.Scalar", uniform(shape, dtype, generator), 1)


def normal(shape: Shape, dtype: torch.dtype, generator: torch.Generator | None) -> Cell:
    """Standard normal."""
    log = op("aten.log.default", open_uniform(shape, dtype, generator))
    radius = op("aten.sqrt.default", op("aten.mul.Scalar", log, -2.0))
    angle = op("aten.mul.Scalar", uniform(shape, dtype, generator), 2 * math.pi)
    return op("aten.mul.Tensor", radius, op("aten.cos.default", angle))


def computing(dtype: torch.dtype) -> torch.dtype:
    """The dtype to draw in."""
    return torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32


def into(self: Tensor, value: Cell) -> None:
    """Let the tensor have these samples, which need a place each."""
    if torch._debug_has_internal_overlap(self) == 1:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    write(self, value)


def require(x: Cell, ok: Cell, message: str) -> Cell:
    """The same value; where not all are ok, its use raises."""
    return record(views.entry_of("mlirdev.require", (Ref(0), Ref(1), message), (x.layout.dense,)), (x, ok))[0]


Draw = Callable[[Shape, torch.dtype, "torch.Generator | None"], Cell]


def fill(self: Tensor, generator: torch.Generator | None, draw: Draw) -> Tensor:
    """Write what `draw` gives for the tensor's shape into it."""
    shape = tuple(self.shape)
    if self.is_complex():
        parts = draw((*shape, 2), computing(self.dtype), generator)
        real = torch.complex64 if self.dtype is torch.complex64 else torch.complex128
        into(self, views.bitcast_to_complex(parts, real))
    else:
        into(self, views.cast(draw(shape, computing(self.dtype), generator), self.dtype))
    return self


def affine(x: Cell, factor: float, offset: float) -> Cell:
    return op("aten.add.Scalar", op("aten.mul.Scalar", x, float(factor)), float(offset))


def _is_inexact(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


@handles("uniform_")
def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: torch.Generator | None = None) -> Tensor:
    check_uniform(self.dtype, low, high)
    digits = None if self.is_complex() else self.dtype  # a half of more bits than it has may be rounded up to `high`

    def draw(shape: Shape, dtype: torch.dtype, generator: torch.Generator | None) -> Cell:
        return affine(uniform(shape, digits or dtype, generator), high - low, low)

    return fill(self, generator, draw)


@handles("normal_")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: torch.Generator | None = None) -> Tensor:
    _check_std(std)
    refuse_unless(_is_inexact(self.dtype), "normal_kernel_cpu", self.dtype)
    if self.is_complex():
        std = std / math.sqrt(2)
    return fill(self, generator, lambda *how: affine(normal(*how), std, mean))


def _check_std(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


@handles("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal_of_tensors(
    mean: Tensor | float, std: Tensor | float = 1.0, *, generator: torch.Generator | None = None
) -> Tensor:
    if isinstance(std, float):
        _check_std(std)
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if isinstance(std, Tensor) and std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    shape = tuple(torch.broadcast_shapes(*(t.shape for t in tensors)))  # type: ignore[no-untyped-call]
    noise = torch.empty(shape, dtype=tensors[0].dtype, device=tensors[0].device)
    deviation: Any = std
    if isinstance(std, Tensor):
        deviation = require(read(std), op("aten.ge.Scalar", std, 0), DEVIATION)
    scaled = op("aten.mul.Tensor", normal_(noise, generator=generator), deviation)
    return new_tensor(views.cast(op("aten.add.Tensor", scaled, mean), tensors[0].dtype))


@handles("log_normal_")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    refuse_unless(self.is_floating_point(), "log_normal_cpu", self.dtype)
    return fill(self, generator, lambda *how: op("aten.exp.default", affine(normal(*how), std, mean)))


@handles("exponential_")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    check_continuous("Exponential", self.dtype)
    return fill(self, generator, lambda *how: op("aten.mul.Scalar", log_uniform(*how), -1.0 / lambd))


def log_uniform(shape: Shape, dtype: torch.dtype, generator: torch.Generator | None) -> Cell:
    """Below 0: as on CUDA, where a uniform of 1 counts as a little less."""
    log = op("aten.log.default", open_uniform(shape, dtype, generator))
    return op("aten.clamp_max.default", log, -torch.finfo(dtype).eps / 2)


@handles("geometric_")
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    refuse_unless(not self.is_complex() and self.dtype is not torch.bool, "geometric_cpu", self.dtype)

    def draw(*how: Any) -> Cell:
        trials = op("aten.ceil.default", op("aten.mul.Scalar", log_uniform(*how), 1.0 / math.log1p(-p)))
        return op("aten.clamp_min.default", trials, 1)

    return fill(self, generator, draw)


@handles("cauchy_")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    check_continuous("Cauchy", self.dtype)

    def draw(*how: Any) -> Cell:
        angle = affine(uniform(*how), math.pi, -math.pi / 2)
        return affine(op("aten.tan.default", angle), sigma, median)

    return fill(self, generator, draw)


# --- bernoulli and dropout ------------------------------------------------------------------------------


def below(self: Tensor, p: float | Tensor | Cell, generator: torch.Generator | None) -> Cell:
    """True with probability p, in the tensor's shape."""
    draw = uniform(tuple(self.shape), torch.float32, generator)
    return op("aten.lt.Scalar" if isinstance(p, float) else "aten.lt.Tensor", draw, p)


@handles("bernoulli_.float")
def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    _check_probability(p)
    refuse_unless(not self.is_complex(), "bernoulli_scalar_cpu_", self.dtype)
    into(self, views.cast(below(self, float(p), generator), self.dtype))
    return self


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")


@handles("bernoulli_.Tensor")
def bernoulli_tensor_(self: Tensor, p: Tensor, *, generator: Any = None) -> Tensor:
    refuse_unless(not self.is_complex(), "bernoulli_tensor_cpu_self_", self.dtype)
    refuse_unless(p.is_floating_point(), "bernoulli_tensor_cpu_p_", p.dtype)
    value = read(p)
    within = op("aten.logical_and.default", op("aten.ge.Scalar", value, 0), op("aten.le.Scalar", value, 1))
    value = require(value, within, BERNOULLI_PROBABILITY)
    into(self, views.cast(below(self, value, generator), self.dtype))
    return self


@handles("bernoulli.p")
def bernoulli_p(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    _check_probability(p)
    refuse_unless(not self.is_complex(), "bernoulli_scalar_cpu_", self.dtype)
    return new_tensor(views.cast(below(self, float(p), generator), self.dtype))


@handles("native_dropout")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if not _is_inexact(input.dtype) and p and train is not False:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {DTYPE_NAMES[input.dtype]}")
    stride = copy_stride(input, None)
    if train is False or p == 0:
        mask = views.full(tuple(input.shape), torch.bool, 1)
        return new_tensor(relabelled(read(input), stride)), new_tensor(relabelled(mask, stride))
    _check_probability(p)
    mask = below(input, 1.0 - p, None)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    kept = op("aten.mul.Scalar", op("aten.mul.Tensor", input, mask), scale)
    return new_tensor(relabelled(kept, stride)), new_tensor(relabelled(mask, stride))


@handles("rrelu_with_noise")
def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1.0 / 3.0,
    training: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Where training, `noise` gets the factors: random ones where self isn't positive, else 1."""
    _check_rrelu(self, noise, lower, upper, training)
    if not training:
        return new_tensor(relabelled(op("aten.leaky_relu.default", self, (float(lower) + float(upper)) / 2), None))
    draw = affine(uniform(tuple(self.shape), computing(self.dtype), generator), upper - lower, lower)
    kept = op("aten.logical_not.default", op("aten.le.Scalar", self, 0))  # a NaN too
    factors = op("aten.masked_fill.Scalar", views.cast(draw, self.dtype), kept, 1)
    write(noise, factors)
    return new_tensor(relabelled(op("aten.mul.Tensor", self, factors), None))


def _check_rrelu(self: Tensor, noise: Tensor, lower: float, upper: float, training: bool) -> None:
    if self.shape != noise.shape:
        shapes = f"Got self.shape = {list(self.shape)} noise.shape = {list(noise.shape)}"
        raise RuntimeError(f"noise tensor shape must match self tensor shape. {shapes}")
    if not self.is_floating_point() or (training and self.dtype is torch.float16):
        not_implemented("rrelu_with_noise_out_cpu", self.dtype)
    if training and self.dtype is not noise.dtype:
        names = DTYPE_NAMES[self.dtype], DTYPE_NAMES[noise.dtype]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    if training and not lower <= upper:
        raise RuntimeError(
            "Expected from <= to to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )


@handles("rrelu_with_noise_")
def rrelu_with_noise_(self: Tensor, noise: Tensor, *options: Any, **named_options: Any) -> Tensor:
    return self.copy_(rrelu_with_noise(self, noise, *options, **named_options))


# --- integers -------------------------------------------------------------------------------------------


@handles("random_.from", "random_.to", "random_")
def random_(self: Tensor, *bounds: int | None, generator: Any = None) -> Tensor:
    low, high = bounds_of_integers(self.dtype, bounds)
    value = integers(tuple(self.shape), high - low, generator)
    if low:
        value = op("aten.add.Scalar", value, low)
    into(self, views.cast(value, self.dtype))
    return self


def integers(shape: Shape, span: int, generator: torch.Generator | None) -> Cell:
    """Uniform in [0, span), as i64."""
    if span & (span - 1) == 0:  # a power of two takes the lowest bits, without a bias
        bits = words(shape, generator) if span <= 1 << 32 else words64(shape, generator)
        return bits if span in (1 << 32, 1 << 64) else op("aten.bitwise_and.Scalar", bits, span - 1)
    if span < 1 << 24:
        return op("aten.remainder.Scalar", words(shape, generator), span)
    bits = words64(shape, generator)
    template = (Ref(0), ScalarRef(0))
    entry = Entry("mlirdev.multiply_high", template, 1, ("int",), (bits.layout,))
    return record(_products.setdefault(bits.layout, entry), (bits,), (signed(span),))[0]


def words64(shape: Shape, generator: torch.Generator | None) -> Cell:
    """Random 64-bit words, as i64."""
    shifted = op("aten.bitwise_left_shift.Tensor_Scalar", words(shape, generator), 32)
    return op("aten.bitwise_or.Tensor", shifted, words(shape, generator))


def words63(shape: Shape, generator: torch.Generator | None) -> Cell:
    """Random 63-bit words, as i64."""
    return op("aten.bitwise_and.Scalar", words64(shape, generator), (1 << 63) - 1)


@handles("randperm", "randperm.generator")
def randperm(
    n: int,
    generator: Any = None,
    dtype: torch.dtype | None = torch.int64,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    check_device(device)
    return new_tensor(views.cast(_permutation(n, generator, dtype or torch.int64), dtype or torch.int64))


@handles("randperm.out", "randperm.generator_out")
def randperm_out(n: int, generator: Any = None, *, out: Tensor) -> Tensor:
    order = _permutation(n, generator, out.dtype)
    return out.resize_(n).copy_(new_tensor(order))


def _permutation(n: int, generator: torch.Generator | None, dtype: torch.dtype) -> Cell:
    check_permutation(n, dtype)
    order = named("aten.sort.default").call(words63((n,), generator))[1]
    assert order is not None
    return order
