"""Fourier transforms: one dim after the other, each as products with small matrices of roots of unity.

    n ≤ 32, or a small prime      rows · (cos | sin): one product of real matrices
    n = n₁ · n₂                   Cooley and Tukey: n₂ transforms of length n₁, turned, n₁ transforms of length n₂
    a large prime                 Bluestein: a convolution with a chirp, by transforms whose length is a power of two

A real result of even length comes from a complex transform of half the length; of a real signal's transform, the mirror
image is computed and dropped, which costs less than parting it would. Roots of unity come from integers, reduced
exactly to a quarter turn, so that every multiple of a quarter is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import int_of, ints_of, wrap
from ..pairs import paired, parts
from ..registry import complex_rule
from ..tensor import Tensor
from .complex_arithmetic import Pair, product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..rewriter import Rewriter

# A real part, and an imaginary part or None where that is zero.
Signal = tuple[Tensor, "Tensor | None"]
DIRECT, DIRECT_PRIME = 32, 128


@complex_rule("aten._fft_c2c.default")
def complex_to_complex(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0])
    axes = _axes(node.args[1], x.rank)
    value = _along(parts(x), axes, -1 if node.args[3] else 1)
    re, im = _scaled(value, node.args[2], [x.shape[d] for d in axes])
    return paired(re, im)


@complex_rule("aten._fft_r2c.default")
def real_to_complex(rw: Rewriter, node: Node) -> Tensor:
    """The last of the dims is halved if onesided."""
    x = rw.tensor(node.args[0])
    axes = _axes(node.args[1], x.rank)
    re, im = by_rows((x, None), axes[-1], lambda rows: _rows(rows, -1))
    if node.args[3]:
        kept = node.results[0].shape[axes[-1]]
        re, im = re.slice(axes[-1], 0, kept), im.slice(axes[-1], 0, kept)
    value = _along((re, im), axes[:-1], -1)
    re, im = _scaled(value, node.args[2], [x.shape[d] for d in axes])
    return paired(re, im)


@complex_rule("aten._fft_c2r.default")
def complex_to_real(rw: Rewriter, node: Node) -> Tensor:
    """The last of the dims is given by its first half."""
    x, size = rw.tensor(node.args[0]), int_of(node.args[3])
    axes = _axes(node.args[1], x.rank)
    half = _along(parts(x), axes[:-1], 1)
    (real,) = by_rows(half, axes[-1], lambda rows: [_real_of_half(rows, size)])
    return _scaled([real], node.args[2], [node.results[0].shape[d] for d in axes])[0]


def _axes(arg: Arg, rank: int) -> list[int]:
    return [wrap(d, rank) for d in ints_of(arg)] if arg else []


def _along(value: Pair, axes: Sequence[int], sign: int) -> Pair:
    for axis in axes:
        re, im = by_rows(value, axis, lambda rows: _rows(rows, sign))
        value = re, im
    return value


def _scaled(values: Sequence[Tensor], normalization: Arg, sizes: Sequence[PlanDim]) -> list[Tensor]:
    """0: not at all, 1: by 1/√n, 2: by 1/n."""
    count = math.prod(map(dims.static, sizes))
    scale = {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[int_of(normalization)]
    return [v if scale == 1.0 else v * scale for v in values]


# --- one dim -----------------------------------------------------------------------------------------


def by_rows(value: Signal, axis: int, fn: Callable[[Signal], Sequence[Tensor]]) -> list[Tensor]:
    """What `fn` makes of (rows, n), with the axis that has become the last for it; it may change its size."""
    re, im = value
    order = [d for d in range(re.rank) if d != axis] + [axis]
    back = [order.index(d) for d in range(re.rank)]
    shape = tuple(re.shape[d] for d in order)

    def flat(v: Tensor) -> Tensor:
        return v.permute(order).view((dims.product(shape[:-1]), shape[-1]))

    results = fn((flat(re), None if im is None else flat(im)))
    return [v.view((*shape[:-1], v.shape[1])).permute(back) for v in results]


def _real_of_half(value: Signal, n: int) -> Tensor:
    """The real signal of length n whose transform begins with this half; what must be real in it is taken as real."""
    re, im = _cut_to_half(value, n)
    rw, rest = re.rewriter, n - (n // 2 + 1)
    if n % 2 or n <= DIRECT:
        back_re, back_im = (v.slice(1, 1, 1 + rest).flip([1]) for v in (re, im))
        whole = (rw.joined([re, back_re], 1), rw.joined([im, -back_im], 1)) if rest else (re, im)
        return _rows(whole, 1)[0]
    back_re, back_im = (v.flip([1]).slice(1, 0, n // 2) for v in (re, im))
    re, im = re.slice(1, 0, n // 2), im.slice(1, 0, n // 2)
    turn = roots(rw, rw.arange(n // 2, DType.f64), n, 1, re.dtype)
    odd = product((re - back_re, im + back_im), turn)
    both = _rows((re + back_re - odd[1], im - back_im + odd[0]), 1)
    return rw.joined([v.unsqueeze(2) for v in both], 2).view((re.shape[0], n))


def _cut_to_half(value: Signal, n: int) -> Pair:
    re, im = value
    assert im is not None
    re, im = (v.slice(1, 0, n // 2 + 1) for v in (re, im))
    place = re.rewriter.arange(re.shape[1])
    real = place.compare("eq", 0)
    real = real | place.compare("eq", n // 2) if n % 2 == 0 else real
    return re, re.rewriter.where(real, 0.0, im)


def _rows(value: Signal, sign: int) -> Pair:
    """Σ x[j] · exp(sign · 2πi · j · k / n) of every row of (rows, n)."""
    n = dims.static(value[0].shape[1])
    factor = _factor(n)
    if n <= DIRECT or (factor == n and n <= DIRECT_PRIME):
        return _direct(value, n, sign)
    return _bluestein(value, n, sign) if factor == n else _split(value, factor, n // factor, sign)


def _factor(n: int) -> int:
    """The smallest divisor that isn't less than √n; n itself for a prime."""
    return next(d for d in range(math.isqrt(n - 1) + 1, n + 1) if n % d == 0) if n > 1 else 1


def _direct(value: Signal, n: int, sign: int) -> Pair:
    """Both parts below each other, times cosines and sines beside each other."""
    re, im = value
    rw, count = re.rewriter, re.shape[0]
    cos, sin = roots(rw, rw.arange(n, DType.f64).unsqueeze(1) * rw.arange(n, DType.f64), n, sign, re.dtype)
    rows = re if im is None else rw.joined([re, im], 0)
    both = rows.mm(rw.joined([cos, sin], 1))
    re_cos, re_sin = (both.slice(0, 0, count).slice(1, k * n, (k + 1) * n) for k in (0, 1))
    if im is None:
        return re_cos, re_sin
    im_cos, im_sin = (both.slice(0, count, dims.add(count, count)).slice(1, k * n, (k + 1) * n) for k in (0, 1))
    return re_cos - im_sin, re_sin + im_cos


def _split(value: Signal, n1: int, n2: int, sign: int) -> Pair:
    """Element j is n₂·j₁ + j₂, result k is k₁ + n₁·k₂."""
    rw, count, dtype = value[0].rewriter, value[0].shape[0], value[0].dtype

    def turned(v: Tensor, a: int, b: int) -> Tensor:
        """(count, a, b) → (count, b, a), as rows of a."""
        return v.view((count, a, b)).permute([0, 2, 1]).view((dims.mul(count, b), a))

    re, im = value
    inner = _rows((turned(re, n1, n2), None if im is None else turned(im, n1, n2)), sign)
    twiddles = roots(rw, rw.arange(n2, DType.f64).unsqueeze(1) * rw.arange(n1, DType.f64), n1 * n2, sign, dtype)
    re, im = product((inner[0].view((count, n2, n1)), inner[1].view((count, n2, n1))), twiddles)
    re, im = _rows((turned(re, n2, n1), turned(im, n2, n1)), sign)
    flat = (count, n1 * n2)
    return turned(re, n1, n2).view(flat), turned(im, n1, n2).view(flat)


def _bluestein(value: Signal, n: int, sign: int) -> Pair:
    """j·k = (j² + k² − (k − j)²) / 2; in double precision, since it takes three transforms."""
    re, im = (v if v is None else v.to(DType.f64) for v in value)
    assert re is not None
    rw, dtype, length = re.rewriter, value[0].dtype, 1 << (2 * n - 2).bit_length()
    place = rw.arange(n, DType.f64)
    chirp = roots(rw, place * place, 2 * n, sign, DType.f64)
    cos, sin = (c.unsqueeze(0) for c in chirp)
    turned = (re * cos, re * sin) if im is None else product((re, im), (cos, sin))
    padded = [v.pad([0, length - n], 0.0) for v in turned]
    spectrum = _rows((padded[0], padded[1]), -1)
    kernel = _rows((_around(cos, length), _around(-sin, length)), -1)
    back = _rows(product(spectrum, kernel), 1)
    result = product((back[0].slice(1, 0, n), back[1].slice(1, 0, n)), (cos * (1 / length), sin * (1 / length)))
    return result[0].to(dtype), result[1].to(dtype)


def _around(chirp: Tensor, length: int) -> Tensor:
    """Its n elements at 0, ±1, ±2, … of a circle."""
    n = dims.static(chirp.shape[1])
    zeros = chirp.rewriter.zeros((1, length - 2 * n + 1), chirp.dtype)
    return chirp.rewriter.joined([chirp, zeros, chirp.slice(1, 1, n).flip([1])], 1)


def roots(rw: Rewriter, place: Tensor, n: int, sign: int, dtype: DType) -> Pair:
    """exp(sign · 2πi · place / n) of integers in f64, exact where they are whole quarters of a turn."""
    fours = place * 4.0
    quarter = (fours / float(n)).unary("floor")
    angle = (fours - quarter * float(n)) * (math.pi / 2 / n)
    cos, sin = angle.unary("cos"), angle.unary("sin")
    quadrant = quarter - (quarter * 0.25).unary("floor") * 4.0
    odd = quadrant.compare("eq", 1.0) | quadrant.compare("eq", 3.0)
    left = quadrant.compare("eq", 1.0) | quadrant.compare("eq", 2.0)
    below = quadrant >= 2.0
    re, im = rw.where(odd, sin, cos), rw.where(odd, cos, sin)
    re, im = rw.where(left, -re, re), rw.where(below if sign > 0 else ~below, -im, im)
    return re.to(dtype), im.to(dtype)
