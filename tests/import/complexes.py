"""Calls with complex numbers: arithmetic and functions (at infinities and NaN too), movement, sums, transforms."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .cases import Case, ints

INF, NAN = float("inf"), float("nan")
FUNCTIONS = [
    "abs", "angle", "exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid", "isnan", "isinf", "isfinite", "neg",
    "conj_physical", "logical_not",
]  # fmt: skip


def c(*shape: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype)


def special(dtype: torch.dtype) -> torch.Tensor:
    """Every pair of special parts."""
    parts = torch.tensor([0.0, -0.0, 1.0, -2.5, 30.0, INF, -INF, NAN], dtype=torch.empty(0, dtype=dtype).real.dtype)
    return torch.complex(parts.repeat_interleave(len(parts)), parts.repeat(len(parts)))


def leaf_grad(fn: Callable[..., torch.Tensor], *args: torch.Tensor) -> Callable[[], object]:
    """fn and its backward, complex leaves included."""

    def run() -> object:
        leaves = [a.detach().clone().requires_grad_() for a in args]
        out = fn(*leaves)
        return torch.autograd.grad(out, leaves, torch.ones_like(out) * 0.7)

    return run


def movement(z: torch.Tensor) -> object:
    index, mask = ints(3, low=0, high=4), torch.rand(4, 5) > 0.5
    written = z.clone()
    return (
        torch.cat([z, z.real], 1), torch.stack([z, z]), z.t().contiguous(), z[1:3, ::2] + 0, z[index], z.flip(0),
        z.index_select(1, index), z.gather(1, ints(4, 2, low=0, high=5)), torch.where(mask, z, 1 - 2j),
        torch.where(mask, z, z.real), z.masked_fill(mask, 3j), z.tril(), torch.diag_embed(z), z.roll(2, 1),
        torch.nn.functional.pad(z, (1, -1, 0, 2), value=2.5), torch.constant_pad_nd(z, (1, 1), 1j),
        written.index_put((index,), z[:3]), written.index_put((index,), z[:3], accumulate=True),
        written.scatter(0, ints(1, 5, low=0, high=4), z), written.scatter_add(0, ints(2, 5, low=0, high=4), z),
        written.index_add(0, index, z[:3], alpha=2 + 1j), torch.full((2, 3), 1 + 2j), torch.ones_like(z), z.clone(),
        z.to(torch.complex128), z.real.to(torch.complex64), ints(3).to(torch.complex64), z.to(torch.bool),
        torch.view_as_real_copy(z), torch.view_as_complex_copy(torch.randn(3, 2)),
    )  # fmt: skip


def sums(z: torch.Tensor, y: torch.Tensor) -> object:
    return (
        z.sum(), z.sum(0), z.mean(1), z.prod(), z.prod(1), z.cumsum(0), z.cumprod(1), z.var(0), z.std(),
        z.var(1, correction=2), torch.linalg.vector_norm(z), torch.linalg.vector_norm(z, 1, 0), z.any(), z.all(0),
        z.count_nonzero(), z @ y, torch.bmm(z[None], y[None]), torch.addmm(z[:, :4], z, y, alpha=2j, beta=0.5),
        torch.mv(z, y[:, 0]), torch.dot(z[0], y[:, 1]), torch.vdot(z[0], y[:, 1]),
        torch.linalg.cross(z[:, :3], z[:, 2:]),
    )  # fmt: skip


def transforms(n: int, dtype: torch.dtype) -> object:
    z = c(3, n, dtype=dtype)
    fft = torch.fft
    return (
        fft.fft(z), fft.ifft(z, norm="ortho"), fft.rfft(z.real), fft.irfft(z, n=n, norm="forward"), fft.hfft(z, n=n),
        fft.ihfft(z.real), fft.fftn(z), fft.irfftn(z), fft.rfftn(z.real, dim=(1, 0)), fft.fft(z, dim=0),
    )  # fmt: skip


def functions(dtype: torch.dtype) -> object:
    return [getattr(torch, name)(z) for name in FUNCTIONS for z in (special(dtype), c(20, dtype=dtype))]


def arithmetic(dtype: torch.dtype) -> object:
    z = special(dtype)
    pairs = z.repeat_interleave(len(z)), z.repeat(len(z))
    x, y = c(30, dtype=dtype), c(30, dtype=dtype)
    return (
        [getattr(torch, name)(*pairs) for name in ("add", "sub", "mul", "div", "eq", "ne")],
        [x**e for e in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.3, 1 + 2j)], x**y, 2.5**x, x * 2, 3j - x, x / 2.5, x + y.real,
        torch.addcmul(x, y, x, value=2 - 1j), torch.addcdiv(x, y, x, value=0.5), torch.lerp(x, y, 0.3), x.lerp(y, x),
        torch.polar(x.real, y.real), torch.complex(x.real, y.imag), x.sgn(), torch.isclose(x, y), x.log1p(), x.expm1(),
        x.sin(), torch.nn.functional.silu(x),
    )  # fmt: skip


def complexes() -> list[Case]:
    precisions = {"single": torch.complex64, "double": torch.complex128}.items()
    return [
        *[(f"functions-{p}", lambda d=d: functions(d)) for p, d in precisions],
        *[(f"arithmetic-{p}", lambda d=d: arithmetic(d)) for p, d in precisions],
        ("movement", lambda: movement(c(4, 5))),
        ("sums", lambda: sums(c(4, 5), c(5, 4))),
        (
            "linear",
            leaf_grad(lambda v, w, b: torch.nn.functional.linear(v, w, b), c(2, 3, 4), c(5, 4), c(5)),
        ),
        (
            "rows",
            lambda: (torch.linspace(1, 2 - 3j, 7), torch.logspace(0, 1 + 1j, 5), c(9).sinc(), c(3, 4).logsumexp(1)),
        ),
        (
            "rare",
            lambda: (
                torch._chunk_cat([c(3, 4), c(5, 4)], 0, 2),
                torch.ldexp(c(4), ints(4)),
                torch.logaddexp(c(9), c(9)),
                torch.var_mean(c(4, 5), 0),
                c(3, 4).renorm(2, 0, 1.0),
                torch.dist(c(5), c(5), 3),
            ),
        ),
        ("nothing", lambda: (c(0, 3).sum(0), c(0, 3).prod(0), c(2, 0) @ c(0, 3), c(0, 3) * 2j)),
        *[(f"fourier-{n}", lambda n=n: transforms(n, torch.complex64)) for n in (2, 5, 12, 32, 66, 131)],
        *[(f"fourier-{n}-double", lambda n=n: transforms(n, torch.complex128)) for n in (12, 202)],
        ("grad", leaf_grad(lambda a, b: (a * b / (a + 2)).exp().abs() + a.tanh().angle() + b.sgn().real, c(7), c(7))),
        ("grad-product", leaf_grad(lambda a, b: (a @ b).sigmoid().prod(0), c(3, 4), c(4, 3))),
        ("grad-fourier", leaf_grad(lambda a, b: torch.fft.irfft(torch.fft.rfft(a) * b, n=9), c(2, 9).real, c(2, 5))),
    ]
