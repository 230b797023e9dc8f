"""Calls of operators that few programs use."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from .cases import Case, grad, ints, odd, r


def rare() -> list[Case]:
    x, square = r(4, 5, 6), r(5, 5)
    picked = torch.tensor([1, 0, 1])
    grid = torch.rand(2, 4, 3, 2) * 2.4 - 1.2
    pooled, places = F.max_pool2d(r(2, 3, 6, 8), 2, return_indices=True)
    volume, points = r(2, 2, 4, 5, 6), torch.rand(2, 2, 3, 2, 3) * 2.6 - 1.3
    nowhere = torch.tensor([float("nan"), float("inf"), -1e20, 1.0, 0.0, -3.0])[torch.randint(0, 6, (2, 4, 3, 2))]
    return [
        (
            "diag_embed",
            lambda: [torch.diag_embed(r(2, 3), o, a, b) for o, a, b in ((0, -2, -1), (1, 0, 2), (-2, 2, 0))],
        ),
        ("trace", lambda: (square.trace(), r(3, 5).trace(), ints(4, 3).trace())),
        ("rot90", lambda: [x.rot90(k, d) for k in (-1, 0, 1, 2, 3) for d in ((0, 1), (2, 0))]),
        ("block_diag", lambda: (torch.block_diag(r(2, 3), r(4), r(1, 0), ints(2, 2)), torch.block_diag(ints(2, 2)))),
        ("cross", grad(lambda a, b: torch.linalg.cross(a, b, dim=1), r(2, 3, 4), r(2, 3, 1))),
        ("cdist", lambda: [torch.cdist(r(2, 5, 3), r(2, 4, 3), p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))]),
        (
            "cdist-grad",
            lambda: [
                grad(lambda a, b, p=p: torch.cdist(a, b, p), r(2, 5, 3), r(2, 4, 3))() for p in (0.5, 1.0, 2.0, 3.0)
            ],
        ),
        ("dist", lambda: [torch.dist(r(5, 3), r(3), p) for p in (0, 1, 2, 3.5, float("inf"))]),
        ("trilinear", grad(lambda a, b, w: F.bilinear(a, b, w), r(2, 3), r(2, 4), r(5, 3, 4))),
        ("renorm", lambda: [x.renorm(p, 1, 2.0) for p in (1, 2)]),
        ("unfold", grad(lambda v: F.unfold(v, (2, 3), dilation=(2, 1), padding=(1, 2), stride=(1, 2)), r(2, 3, 5, 7))),
        ("fold", grad(lambda v: F.fold(v, (4, 5), (2, 3), padding=(1, 0), stride=(2, 1)), r(2, 12, 9))),
        ("max_unpool", lambda: F.max_unpool2d(pooled, places, 2)),
        ("soft_margin", grad(lambda v: F.soft_margin_loss(v, torch.tensor([1.0, -1.0, 1.0])), r(3))),
        (
            "index_reduce",
            lambda: [
                x.index_reduce(1, picked, r(4, 3, 6), k, include_self=s)
                for k in ("prod", "mean", "amax", "amin")
                for s in (True, False)
            ],
        ),
        ("put", lambda: [square.put(torch.tensor([[3, -1], [3, 0]]), r(2, 2), a) for a in (True, False)]),
        ("masked_scatter", lambda: (x.masked_scatter(x > 0.5, r(200)), square.masked_scatter(r(5) > 0, r(25)))),
        (
            "searchsorted",
            lambda: [
                torch.searchsorted(r(2, 7).sort(1)[0], r(2, 4), right=right, side=side)
                for right, side in ((False, None), (True, None), (False, "right"))
            ],
        ),
        ("kthvalue", lambda: (odd(3, 9).kthvalue(2), odd(3, 9).kthvalue(9, 1), x.kthvalue(3, 0, True))),
        ("erfinv", lambda: torch.tensor([-1.0, -0.999, -0.5, -0.0, 0.0, 0.3, 0.9999, 1.0, 1.5, float("nan")]).erfinv()),
        ("logit", grad(lambda v: torch.logit(v, 0.1), torch.rand(9))),
        ("angle", lambda: (odd(9).angle(), ints(9).angle())),
        ("ldexp", lambda: (torch.ldexp(r(9), ints(9)), torch.ldexp(ints(9), ints(9)))),
        ("logspace", lambda: (torch.logspace(0, 3, 7), torch.logspace(0, 4, 5, base=2, dtype=torch.int64))),
        ("bicubic", lambda: [F.interpolate(r(2, 3, 4, 5), size=s, mode="bicubic") for s in ((7, 3), (4, 5), (1, 9))]),
        (
            "bicubic-aligned",
            grad(lambda v: F.interpolate(v, scale_factor=1.7, mode="bicubic", align_corners=True), r(1, 2, 4, 5)),
        ),
        (
            "grid_sample",
            lambda: [
                F.grid_sample(r(2, 3, 5, 6), grid, m, p, a)
                for m in ("bilinear", "nearest")
                for p in ("zeros", "border", "reflection")
                for a in (True, False)
            ],
        ),
        (
            "grid_sample-grad",
            lambda: [
                grad(lambda v, g, m=m, p=p, a=a: F.grid_sample(v, g, m, p, a), r(2, 3, 5, 6), grid)()
                for m, p, a in (
                    ("bilinear", "zeros", False),
                    ("bilinear", "reflection", True),
                    ("nearest", "border", False),
                    ("bicubic", "reflection", False),
                )
            ],
        ),
        (
            "grid_sample-volume",
            lambda: [
                grad(lambda v, g, m=m, p=p: F.grid_sample(v, g, m, p, False), volume, points)()
                for m, p in (("bilinear", "border"), ("nearest", "zeros"))
            ],
        ),
        (
            "grid_sample-nowhere",
            lambda: [
                F.grid_sample(r(2, 3, 5, 6), nowhere, m, p, False)
                for m in ("bilinear", "nearest", "bicubic")
                for p in ("zeros", "border", "reflection")
            ],
        ),
        (
            "adaptive_max_pool",
            lambda: [
                *(F.adaptive_max_pool2d(odd(2, 3, 7, 5), s, return_indices=True) for s in ((3, 4), 1, (7, 6))),
                F.adaptive_max_pool3d(ints(2, 5, 4, 6).float(), (2, 3, None), return_indices=True),
            ],
        ),
        ("adaptive_max_pool-grad", grad(lambda v: F.adaptive_max_pool2d(v, (3, 4)), r(2, 3, 7, 5))),
        (
            "fractional_max_pool",
            lambda: [
                torch.ops.aten.fractional_max_pool2d(odd(2, 3, 7, 9), [2, 3], [3, 5], torch.rand(2, 3, 2)),
                torch.ops.aten.fractional_max_pool3d(r(3, 5, 6, 7), [2, 1, 3], [2, 5, 1], torch.rand(1, 3, 3)),
            ],
        ),
        ("max_pool-nan", lambda: F.max_pool2d(torch.full((1, 2, 4, 4), float("nan")), 3, 1, 1, return_indices=True)),
        *margins(),
        *(bytes_of(dtype) for dtype in (torch.int8, torch.uint8)),
    ]


def margins() -> list[Case]:
    x = r(5, 7)
    several = torch.tensor(
        [[3, 0, -1, 6, 1, 1, 1], [-1] * 7, [1, 1, 2, -1, 0, 0, 0], list(range(7)), [5, -1] + [0] * 5]
    )
    return [
        (
            "multilabel_margin",
            lambda: [
                grad(lambda v, k=k: F.multilabel_margin_loss(v, several, reduction=k), x)()
                for k in ("mean", "sum", "none")
            ],
        ),
        ("multilabel_margin-line", grad(lambda v: F.multilabel_margin_loss(v, several[0]), r(7))),
        (
            "pdist",
            lambda: [grad(lambda v, p=p: F.pdist(v, p), x)() for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf"))],
        ),
        (
            "antialias",
            lambda: [
                grad(lambda v, m=m, s=s: F.interpolate(v, s, mode=m, antialias=True), r(2, 3, 7, 9))()
                for m, s in (("bilinear", (3, 4)), ("bicubic", (13, 2)), ("bilinear", (1, 9)))
            ],
        ),
    ]


def bytes_of(dtype: torch.dtype) -> Case:
    """Products of bytes wrap around."""
    low, high = (-128, 128) if dtype is torch.int8 else (0, 256)
    x, w, bias = (ints(*shape, low=low, high=high, dtype=dtype) for shape in ((5, 7), (3, 7), (3,)))
    image, kernel = x.view(1, 1, 5, 7), w[:, :4].reshape(3, 1, 2, 2)
    return (
        f"products-{dtype}",
        lambda: [
            torch.addmm(bias, x, w.t(), beta=2, alpha=3),
            F.linear(x, w, bias),
            torch.bmm(x.view(5, 1, 7), x.view(5, 7, 1)),
            F.conv2d(image, kernel, bias, padding=1),
        ],
    )
