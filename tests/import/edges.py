"""Calls whose values lie at an edge: ties of rounding, numbers against tensors, nothing to read, output padding."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from .cases import Case, grad, ints, odd, r

INF, NAN = float("inf"), float("nan")


def edges() -> list[Case]:
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 0.1, -0.1, 0.999, 3e9, -3e9, 1e30, 127.5, 300.0])
    return [
        ("compare-itself", lambda: [getattr(torch, n)(x, x) for n in ("eq", "ne", "lt", "le", "gt", "ge")]),
        ("compare-number", lambda: [getattr(torch, n)(x, 0.1) for n in ("eq", "ne", "lt", "le", "gt", "ge")]),
        ("compare-half", lambda: [getattr(torch, n)(x.bfloat16(), 0.1) for n in ("eq", "lt", "ge")]),
        ("compare-int", lambda: [getattr(torch, n)(ints(20), v) for n in ("eq", "lt", "ge") for v in (2, 2.5)]),
        ("compare-bytes", lambda: [getattr(torch, n)(ints(20, dtype=torch.uint8), 200) for n in ("eq", "lt", "ge")]),
        ("compare-bool", lambda: (ints(9) > 0) < (ints(9) > 1)),
        (
            "cast",
            lambda: [x.to(d) for d in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)],
        ),
        (
            "bytes",
            lambda: [
                (v * 2, v + 2, v - 2, 2 - v, v**3, torch.gcd(v, w), torch.pow(v, w), v // 3, v % 3)
                for d in (torch.int8, torch.uint8)
                for v, w in [(ints(20, low=0, high=256, dtype=d), ints(20, low=200, high=256, dtype=torch.uint8))]
            ],
        ),
        (
            "lcm",
            lambda: [
                torch.lcm(ints(50, low=-9, dtype=d), ints(50, dtype=d)) for d in (torch.int64, torch.int32, torch.int8)
            ],
        ),
        (
            "ldexp",
            lambda: [
                torch.ldexp(x.to(d), n.to(e))
                for n in [ints(13, low=-300, high=300)]
                for d in (torch.float32, torch.float64, torch.bfloat16, torch.int64)
                for e in (torch.int64, torch.float32)
            ],
        ),
        ("half-of-half", lambda: (x.bfloat16().half(), x.half().bfloat16())),
        ("bool-as-number", lambda: (x / True, x * True, x + True, ints(5) / True, ints(5) * True)),
        ("alpha-of-bools", lambda: [torch.add(x > 0, x > 1, alpha=a) for a in (True, False, 2)]),
        ("root-of-half", lambda: [x.half() ** e for e in (0.5, -0.5)]),
        ("trunc", lambda: [torch.trunc(x), torch.frac(odd(9)), torch.trunc(-r(9) * 0.1).signbit()]),
        ("div-trunc-half", lambda: torch.div(r(50).bfloat16(), r(50).bfloat16(), rounding_mode="trunc")),
        ("nothing", lambda: (F.glu(r(2, 0, 3), 0), r(5, 3).split_with_sizes([5, 0]), r(4)[4:])),
        (
            "output-padding",
            grad(
                lambda v, w: F.conv_transpose2d(v, w, stride=2, output_padding=2, dilation=3),
                r(1, 2, 4, 5),
                r(2, 3, 2, 3),
            ),
        ),
    ]
