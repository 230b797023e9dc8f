"""Special functions over their ranges: poles, signed zeros, infinities and NaN, huge and tiny arguments."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .cases import Case

S = torch.special
INF, NAN = float("inf"), float("nan")
DTYPES = (torch.float32, torch.float64)

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "i0": torch.i0,
    **{n: getattr(S, n) for n in ("i0e", "i1", "i1e", "entr", "erfcx", "log_ndtr", "airy_ai", "spherical_bessel_j0")},
    **{f"bessel_{n}": getattr(S, f"bessel_{n}") for n in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{n}": getattr(S, f"modified_bessel_{n}") for n in ("i0", "i1", "k0", "k1")},
    **{f"scaled_modified_bessel_{n}": getattr(S, f"scaled_modified_bessel_{n}") for n in ("k0", "k1")},
}
POLYNOMIALS = [
    *(f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


def wide(dtype: torch.dtype) -> torch.Tensor:
    """Quarters from −15 to 15, and values of every size and sign."""
    edges = torch.tensor(
        [0.0, -0.0, INF, -INF, NAN, 1e-30, -1e-30, 103.0, 1e30, -1e30, 1e-45, 2.09, -2.09, 26.8, -26.8]
    )
    scaled = [torch.randn(60) * s for s in (1e-8, 1e-3, 1.0, 8.0, 60.0, 1e3)]
    return torch.cat([edges, torch.arange(-60, 61) / 4, *scaled]).to(dtype)


def both(fn: Callable[..., object], *makes: Callable[[torch.dtype], torch.Tensor]) -> Callable[[], object]:
    return lambda: [fn(*(make(d) for make in makes)) for d in DTYPES]


def _orders(dtype: torch.dtype) -> torch.Tensor:
    return (torch.arange(-2, 18) * 0.75).repeat(12).to(dtype)


def _inside(dtype: torch.dtype) -> torch.Tensor:
    return torch.cat([torch.rand(232) * 3 - 1.5, torch.tensor([1.0, -1.0, 0.0, 0.5, INF, -INF, 1.0, -1.0])]).to(dtype)


def _incomplete(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    edges = torch.tensor([0.0, 1.0, -1.0, INF, NAN, 20.0, 200.0])
    large = 300.0 if dtype is torch.float32 else 3000.0  # where the CPU's expansion still has digits
    a = torch.cat([torch.rand(40) * s for s in (1.0, 5.0, 50.0, large)])
    x = a * torch.cat([1 + torch.randn(80) * 0.1, torch.rand(80) * 3]).abs()[torch.randperm(160)]
    pairs = torch.cartesian_prod(edges, edges)
    return torch.cat([a, pairs[:, 0]]).to(dtype), torch.cat([x, pairs[:, 1]]).to(dtype)


def _zeta(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    orders = torch.tensor([0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 40.0, INF, NAN])
    pairs = torch.cartesian_prod(
        orders, torch.tensor([-3.5, -3.0, -0.5, 0.0, 0.25, 1.0, 9.5, 30.0, 1e6, INF, -INF, NAN])
    )
    return pairs[:, 0].to(dtype), pairs[:, 1].to(dtype)


def special() -> list[Case]:
    shares = torch.cat([torch.rand(99), torch.rand(99) ** 20, torch.tensor([0.0, 1.0, -0.1, 1.1, NAN, 0.5])])
    halves = (torch.float16, torch.bfloat16)
    ends = [(torch.tensor(0.5), torch.tensor(3)), (torch.tensor(2), 0.25), (-1, torch.tensor(1.5))]
    return [
        *((name, both(fn, wide)) for name, fn in UNARY.items()),
        ("ndtri", lambda: [S.ndtri(shares.to(d)) for d in DTYPES]),
        ("polygamma", lambda: [torch.polygamma(n, wide(d).clamp(-200)) for d in DTYPES for n in (0, 1, 2, 5)]),
        ("mvlgamma", lambda: [torch.mvlgamma(wide(d), p) for d in DTYPES for p in (1, 3)]),
        ("zeta", lambda: [S.zeta(*_zeta(d)) for d in DTYPES]),
        ("igamma", lambda: [torch.igamma(*_incomplete(d)) for d in DTYPES]),
        ("igammac", lambda: [torch.igammac(*_incomplete(d)) for d in DTYPES]),
        ("xlog1py", both(S.xlog1py, wide, lambda d: wide(d).flip(0))),
        *((name, both(getattr(S, name), _inside, _orders)) for name in POLYNOMIALS),
        ("of-number", lambda: (S.zeta(2.5, wide(DTYPES[0]).abs()), S.hermite_polynomial_h(0.3, _orders(DTYPES[0])))),
        ("of-integers", lambda: [f(torch.arange(1, 9)) for f in (torch.lgamma, torch.digamma, torch.i0, S.erfcx)]),
        ("of-halves", lambda: [f(wide(d)) for d in halves for f in (torch.lgamma, torch.digamma, torch.i0, S.i1e)]),
        ("linspace", lambda: [f(a, b, n) for f in (torch.linspace, torch.logspace) for n in (1, 6) for a, b in ends]),
        ("nextafter", lambda: [torch.nextafter(wide(d), wide(d).flip(0)) for d in (*DTYPES, *halves)]),
        ("frexp", lambda: [torch.frexp(wide(d)) for d in (*DTYPES, *halves)]),
    ]
