"""Calls as users write them; the operators that they dispatch to are what is tested."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

torch.manual_seed(0)
Case = tuple[str, Callable[[], object]]


def r(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Values about 0, with NaN and infinities where there is room."""
    return torch.randn(*shape).to(dtype)


def odd(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    x = torch.randn(*shape).to(dtype)
    if x.numel() > 6:
        x.view(-1)[:5] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]).to(dtype)
    return x


def ints(*shape: int, low: int = -5, high: int = 6, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape).to(dtype)


def grad(fn: Callable[..., torch.Tensor], *args: torch.Tensor) -> Callable[[], object]:
    """fn and its backward."""

    def run() -> object:
        leaves = [a.detach().clone().requires_grad_(a.is_floating_point()) for a in args]
        out = fn(*leaves)
        return torch.autograd.grad(out, [v for v in leaves if v.requires_grad], torch.ones_like(out) * 0.7)

    return run


UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "neg",
    "rad2deg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "nan_to_num",
]
ACTIVATIONS = [
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "relu6",
    "leaky_relu",
    "logsigmoid",
    "softplus",
    "softshrink",
    "hardshrink",
    "softsign",
    "tanhshrink",
    "glu",
    "softmax",
    "log_softmax",
]
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def unary() -> list[Case]:
    cases: list[Case] = []
    for name in UNARY:
        for dtype in (torch.float32, torch.bfloat16):
            cases.append((f"{name}-{dtype}", lambda n=name, d=dtype: getattr(torch, n)(odd(3, 7, dtype=d))))
        if name not in ("frac",):
            cases.append(
                (
                    f"{name}-int",
                    lambda n=name: (
                        [getattr(torch, n)(x) for x in (ints(4, 3), ints(5, dtype=torch.int32))]
                        if n not in ("relu",)
                        else torch.relu(ints(4))
                    ),
                )
            )
    cases.append(("unary-empty", lambda: torch.exp(r(0, 3))))
    cases.append(("unary-0d", lambda: torch.exp(torch.tensor(1.5))))
    return cases


def binary() -> list[Case]:
    cases: list[Case] = []
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "pow",
        "fmod",
        "remainder",
        "atan2",
        "copysign",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "xlogy",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_xor",
        "floor_divide",
        "heaviside",
    ):
        fn = getattr(torch, name)
        cases.append((f"{name}-f32", lambda f=fn: f(odd(3, 5), r(5))))
        cases.append((f"{name}-bf16", lambda f=fn: f(r(3, 5, dtype=torch.bfloat16), r(3, 1, dtype=torch.bfloat16))))
        if name not in ("hypot", "logaddexp", "logaddexp2"):
            cases.append((f"{name}-i64", lambda f=fn: f(ints(4, 3), ints(3, low=1))))
            cases.append(
                (
                    f"{name}-u8",
                    lambda f=fn: f(
                        ints(4, 3, low=0, high=255, dtype=torch.uint8), ints(4, 1, low=1, dtype=torch.uint8)
                    ),
                )
            )
        if name not in (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "hypot",
            "logaddexp",
            "logaddexp2",
            "logical_and",
            "logical_or",
            "logical_xor",
            "atan2",
            "heaviside",
        ):
            cases.append((f"{name}-scalar", lambda f=fn: (f(r(3, 5), 2.5), f(ints(3, 5), 3))))

    def mixed() -> object:
        return (
            ints(3, 4) + r(4),
            r(3).double() + r(3),
            ints(3, dtype=torch.int32) + ints(3),
            ints(3) * 1.5,
            ints(3) / ints(3, low=1),
            r(3, dtype=torch.bfloat16) + r(3),
            r(3) + torch.tensor(2.0, dtype=torch.float64),
            ints(3) + torch.tensor(1.5),
            torch.tensor([True, False]) + torch.tensor([True, True]),
            torch.tensor([True, False]) * torch.tensor([True, True]),
            torch.tensor([True]) + 1,
            2 - r(3),
            2 - ints(3),
            1 / r(3),
            ints(3) > 0.5,
            r(3) > ints(3),
            2 ** r(3),
        )

    cases.append(("promotion", mixed))
    cases.append(
        (
            "alpha",
            lambda: (
                torch.add(r(3), r(3), alpha=2.5),
                torch.sub(ints(3), ints(3), alpha=2),
                torch.rsub(r(3), 1, alpha=3),
            ),
        )
    )
    cases.append(
        (
            "pow",
            lambda: (
                [r(7).abs() ** e for e in (2, 3, 0.5, -0.5, -1, -2, 0, 1, 1.7)]
                + [ints(7) ** e for e in (0, 1, 2, 3, 5)]
            ),
        )
    )
    cases.append(
        (
            "bitwise",
            lambda: (
                [
                    f(ints(5, dtype=d), y)
                    for f in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
                    for d in (torch.int64, torch.uint8)
                    for y in (ints(5, dtype=d), 3)
                ]
                + [~ints(4), ~torch.tensor([True, False])]
            ),
        )
    )
    cases.append(
        (
            "shift",
            lambda: (
                ints(5) << 3,
                ints(5) >> 1,
                ints(5, low=0, dtype=torch.uint8) << 1,
                ints(5) << torch.tensor([0, 1, 63, 64, 2]),
            ),
        )
    )
    cases.append(
        (
            "rounding",
            lambda: [
                torch.div(a, b, rounding_mode=m)
                for m in ("trunc", "floor")
                for a, b in ((r(9), r(9)), (ints(9), ints(9, low=1)), (ints(9), torch.tensor(-3)), (odd(9), 0.3))
            ],
        )
    )
    cases.append(("gcd", lambda: torch.gcd(ints(20, low=-50, high=50), ints(20, low=-50, high=50))))
    cases.append(("extreme", lambda: [torch.tensor([-(2**63), 2**63 - 1, 5]) // -1, torch.tensor([-(2**63), 7]) % -1]))
    cases.append(("isclose", lambda: (torch.isclose(odd(9), odd(9), equal_nan=True), torch.isclose(ints(5), ints(5)))))
    return cases


def fused() -> list[Case]:
    x, y, z = r(4, 5), r(4, 5), r(5)
    mask = torch.rand(4, 5) > 0.5
    return [
        ("addcmul", lambda: (torch.addcmul(x, y, z, value=0.3), torch.addcdiv(x, y, z, value=-0.2))),
        ("lerp", lambda: (torch.lerp(x, y, 0.3), torch.lerp(x, y, 0.8), torch.lerp(x, y, torch.rand(4, 5)))),
        (
            "clamp",
            lambda: (
                x.clamp(-0.5, 0.5),
                x.clamp(min=0),
                odd(9).clamp(max=1.0),
                x.clamp(y, y + 1),
                ints(9).clamp(-1, 2),
                x.clamp_min(y),
            ),
        ),
        (
            "where",
            lambda: (
                torch.where(mask, x, y),
                torch.where(mask, x, 0.0),
                torch.where(mask, 1.0, x),
                torch.where(mask, ints(4, 5), x),
            ),
        ),
        (
            "masked_fill",
            lambda: (
                x.masked_fill(mask, -1e9),
                x.masked_fill(mask, float("-inf")),
                ints(4, 5).masked_fill(mask, 7),
                x.masked_fill(mask, torch.tensor(2.0)),
            ),
        ),
        ("tril", lambda: (x.tril(), x.triu(1), x.tril(-2), mask.tril(), ints(2, 3, 3).triu(-1))),
        ("logit", lambda: (torch.logit(torch.rand(5)), torch.logit(torch.rand(5), eps=0.2))),
        (
            "casts",
            lambda: (
                [x.to(d) for d in (*FLOATS, *INTEGERS[:4], torch.bool)]
                + [ints(5, low=0, high=200, dtype=torch.uint8).to(d) for d in (torch.float32, torch.int64, torch.int8)]
                + [mask.to(d) for d in (torch.float32, torch.int32, torch.uint8, torch.bfloat16)]
                + [ints(5).to(d) for d in (torch.int8, torch.float64, torch.bfloat16, torch.bool)]
                + [r(50).double().to(torch.bfloat16), odd(9).bool(), r(9, dtype=torch.bfloat16).double()]
            ),
        ),
        (
            "factories",
            lambda: (
                torch.full((2, 3), 1.5),
                torch.zeros(0, 2),
                torch.ones(3, dtype=torch.int64),
                torch.arange(5),
                torch.arange(1, 10, 3),
                torch.arange(0, 1, 0.1),
                torch.arange(5, dtype=torch.bfloat16),
                torch.eye(3, 4),
                torch.linspace(0, 1, 7),
                torch.linspace(-1, 5, 4, dtype=torch.float64),
                torch.zeros_like(x),
                torch.full_like(x, 3),
                torch.ones_like(mask),
                x.new_full((2,), 4),
                torch.scalar_tensor(3),
            ),
        ),
        ("dropout_backward", lambda: torch.ops.aten.native_dropout_backward(x, mask, 2.0)),
        (
            "copy",
            lambda: (
                torch.ops.aten.copy(x, z),
                torch.ops.aten.clone(x),
                torch.ops.aten.fill.Tensor(x, torch.tensor(2.0)),
            ),
        ),
    ]


def activations() -> list[Case]:
    cases: list[Case] = []
    for name in ACTIVATIONS:
        fn = getattr(F, name)
        call = (lambda v, f=fn: f(v, dim=-1)) if name in ("softmax", "log_softmax", "glu") else fn
        cases.append((name, grad(call, r(3, 6) * 3)))
        cases.append((f"{name}-bf16", grad(call, r(3, 6, dtype=torch.bfloat16))))
        if name not in ("glu", "gelu"):  # at infinity the CPU's vectorised gelu is NaN, ours its limit
            cases.append((f"{name}-odd", lambda c=call: c(odd(2, 9))))
    cases.append(("gelu-tanh", grad(lambda v: F.gelu(v, approximate="tanh"), r(3, 6) * 2)))
    cases.append(("threshold", grad(lambda v: F.threshold(v, 0.1, 5.0), r(3, 6))))
    cases.append(("prelu", grad(lambda v, w: F.prelu(v, w), r(2, 3, 4), r(3))))
    cases.append(("softmax-dim0", grad(lambda v: F.softmax(v, 0), r(4, 3))))
    cases.append(("logsumexp", grad(lambda v: torch.logsumexp(v, (0, 2)), r(2, 3, 4))))
    cases.append(("logcumsum", lambda: torch.cumsum(r(3, 4), 1)))
    return cases


def reductions() -> list[Case]:
    x = r(3, 4, 5)
    cases: list[Case] = []
    for name in ("sum", "mean", "prod", "amax", "amin", "var", "std", "any", "all", "argmax", "argmin"):
        fn = getattr(torch, name)
        cases.append((f"{name}-all", lambda f=fn: f(x)))
        cases.append((f"{name}-dim", lambda f=fn: (f(x, dim=1), f(x, dim=-1, keepdim=True))))
        if name in ("sum", "mean", "amax", "amin", "var", "any", "all"):
            cases.append((f"{name}-dims", lambda f=fn: f(x, dim=(0, 2), keepdim=True)))
        if name not in ("mean", "var", "std"):
            cases.append(
                (f"{name}-int", lambda f=fn: (f(ints(3, 4), dim=1), f(ints(3, 4, low=0, dtype=torch.uint8), dim=0)))
            )
        if name not in ("argmax", "argmin"):
            cases.append((f"{name}-bf16", lambda f=fn: f(r(3, 40, dtype=torch.bfloat16), dim=1)))
        cases.append((f"{name}-nan", lambda f=fn: f(odd(3, 9), dim=1)))
    cases += [
        (
            "max.dim",
            lambda: (
                x.max(1),
                x.min(2, keepdim=True),
                ints(4, 9).max(1),
                odd(3, 9).max(1),
                odd(3, 9).min(1),
                x.max(),
                ints(5).min(),
                torch.max(x, -x),
            ),
        ),
        (
            "ties",
            lambda: (torch.ones(3, 4).argmax(1), torch.zeros(5).argmin(), torch.tensor([True, False, True]).max(0)),
        ),
        (
            "sum-bool",
            lambda: ((x > 0).sum(), (x > 0).sum(1), ints(3, 4, dtype=torch.int32).sum(), x.sum(dtype=torch.float64)),
        ),
        ("empty", lambda: (r(0, 3).sum(0), r(0, 3).sum(1), r(2, 0).prod(1), r(0).mean(), r(0, 3).any(0))),
        (
            "zero-d",
            lambda: (
                torch.tensor(2.0).sum(),
                torch.tensor(2.0).max(0),
                torch.tensor(3).argmax(),
                torch.tensor(2.0).softmax(0),
            ),
        ),
        (
            "var_mean",
            lambda: (torch.var_mean(x, 1), torch.std_mean(x, (0, 1), correction=0, keepdim=True), r(1, 3).var(0)),
        ),
        (
            "norm",
            lambda: (
                [torch.linalg.vector_norm(x, o, dim=1) for o in (2, 1, 0, float("inf"), -float("inf"), 3)]
                + [x.norm(), x.norm(dim=1, keepdim=True)]
            ),
        ),
        ("cumsum", lambda: (x.cumsum(1), ints(3, 4).cumsum(0), x.cumprod(2), r(3, 9, dtype=torch.bfloat16).cumsum(1))),
        (
            "aminmax",
            lambda: (torch.aminmax(x), torch.aminmax(x, dim=1), torch.count_nonzero(ints(9)), torch.nansum(odd(9))),
        ),
    ]
    return cases


def norms() -> list[Case]:
    def running() -> tuple[torch.Tensor, torch.Tensor]:
        return (torch.zeros(4), torch.ones(4))

    a = torch.ops.aten
    return [
        ("layer_norm", grad(lambda x, w, b: F.layer_norm(x, (5,), w, b), r(3, 4, 5), r(5), r(5))),
        ("layer_norm-2d", grad(lambda x: F.layer_norm(x, (4, 5)), r(3, 4, 5))),
        (
            "layer_norm-bf16",
            grad(
                lambda x, w, b: F.layer_norm(x, (8,), w, b),
                *[r(*s, dtype=torch.bfloat16) for s in ((3, 8), (8,), (8,))],
            ),
        ),
        ("group_norm", grad(lambda x, w, b: F.group_norm(x, 2, w, b), r(2, 4, 3, 3), r(4), r(4))),
        ("rms_norm", grad(lambda x, w: F.rms_norm(x, (5,), w, 1e-5), r(3, 5), r(5))),
        ("batch_norm", grad(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), r(3, 4, 2, 2), r(4), r(4))),
        (
            "batch_norm-eval",
            grad(
                lambda x, w, b: F.batch_norm(x, torch.full((4,), 0.1), torch.full((4,), 2.0), w, b),
                r(3, 4, 2),
                r(4),
                r(4),
            ),
        ),
        (
            "batch_norm-functional",
            lambda: [
                a._native_batch_norm_legit_functional(r(3, 4, 5), r(4), r(4), *running(), t, 0.1, 1e-5) for t in (True,)
            ],
        ),
        (
            "batch_norm-no_training",
            lambda: a._native_batch_norm_legit_no_training(r(3, 4), r(4), r(4), *running(), 0.1, 1e-5),
        ),
        ("instance_norm", grad(lambda x: F.instance_norm(x), r(2, 3, 4, 4))),
    ]


def losses() -> list[Case]:
    t = torch.tensor([1, 0, -100, 3])
    cases: list[Case] = []
    for red in ("none", "mean", "sum"):
        cases += [
            (f"nll-{red}", grad(lambda x, m=red: F.nll_loss(x, t, reduction=m), r(4, 5))),
            (
                f"nll-weight-{red}",
                grad(lambda x, m=red: F.nll_loss(x, t, torch.arange(1.0, 6.0), reduction=m), r(4, 5)),
            ),
            (f"ce-{red}", grad(lambda x, m=red: F.cross_entropy(x, t, reduction=m, label_smoothing=0.1), r(4, 5))),
            (
                f"nll2d-{red}",
                grad(lambda x, m=red: F.nll_loss(x, torch.tensor([[[0, 1], [2, 2]]]), reduction=m), r(1, 3, 2, 2)),
            ),
            (f"mse-{red}", grad(lambda x, m=red: F.mse_loss(x, torch.ones(3, 4), reduction=m), r(3, 4))),
            (
                f"smooth_l1-{red}",
                grad(lambda x, m=red: F.smooth_l1_loss(x, torch.ones(3, 4), reduction=m, beta=0.7), r(3, 4)),
            ),
            (f"huber-{red}", grad(lambda x, m=red: F.huber_loss(x, torch.ones(3, 4), reduction=m, delta=0.7), r(3, 4))),
            (f"l1-{red}", grad(lambda x, m=red: F.l1_loss(x, torch.ones(3, 4), reduction=m), r(3, 4))),
            (
                f"bce-{red}",
                grad(lambda x, m=red: F.binary_cross_entropy(x, torch.rand(3, 4), reduction=m), torch.rand(3, 4)),
            ),
            (
                f"bcel-{red}",
                grad(
                    lambda x, m=red: (
                        F.binary_cross_entropy_with_logits(
                            x, torch.ones(3, 4), torch.rand(4), m == "", None, m, torch.rand(4)
                        )
                        if False
                        else F.binary_cross_entropy_with_logits(
                            x, torch.ones(3, 4), torch.rand(4), reduction=m, pos_weight=torch.rand(4)
                        )
                    ),
                    r(3, 4),
                ),
            ),
            (f"kl-{red}", grad(lambda x, m=red: F.kl_div(x, torch.rand(3, 4), reduction=m), r(3, 4))),
        ]
    cases.append(("nll-1d", grad(lambda x: F.nll_loss(x, torch.tensor(2)), r(5))))
    return cases


def contractions() -> list[Case]:
    cases: list[Case] = [
        ("mm", grad(lambda a, b: a @ b, r(3, 4), r(4, 5))),
        ("mm-bf16", lambda: r(3, 40, dtype=torch.bfloat16) @ r(40, 5, dtype=torch.bfloat16)),
        ("mm-int", lambda: ints(3, 4) @ ints(4, 2)),
        ("mm-empty", lambda: (r(3, 0) @ r(0, 4), r(0, 3) @ r(3, 2), torch.bmm(r(0, 2, 3), r(0, 3, 2)))),
        ("bmm", grad(torch.bmm, r(2, 3, 4), r(2, 4, 5))),
        ("matmul", grad(torch.matmul, r(2, 1, 3, 4), r(5, 4, 2))),
        (
            "addmm",
            lambda: (
                torch.addmm(r(5), r(3, 4), r(4, 5)),
                torch.addmm(r(3, 5), r(3, 4), r(4, 5), beta=0.3, alpha=2),
                torch.addmm(odd(3, 5), r(3, 4), r(4, 5), beta=0),
            ),
        ),
        (
            "baddbmm",
            lambda: (
                torch.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5), alpha=0.5),
                torch.addmv(r(3), r(3, 4), r(4)),
                torch.addr(r(3, 4), r(3), r(4)),
            ),
        ),
        ("mv", lambda: (r(3, 4) @ r(4), r(4) @ r(4), torch.outer(r(3), r(4)))),
        ("linear", grad(lambda x, w, b: F.linear(x, w, b), r(2, 3, 4), r(5, 4), r(5))),
    ]
    for d in (1, 2, 3):
        s, c = (7, 6, 5)[:d], getattr(F, f"conv{d}d")
        ct = getattr(F, f"conv_transpose{d}d")
        cases += [
            (f"conv{d}d", grad(lambda x, w, b, f=c: f(x, w, b), r(2, 3, *s), r(4, 3, *[3] * d), r(4))),
            (f"conv{d}d-stride", grad(lambda x, w, f=c: f(x, w, None, 2, 1), r(2, 3, *s), r(4, 3, *[3] * d))),
            (f"conv{d}d-dilation", grad(lambda x, w, f=c: f(x, w, None, 1, 2, 2), r(2, 3, *s), r(4, 3, *[2] * d))),
            (f"conv{d}d-groups", grad(lambda x, w, f=c: f(x, w, None, 2, 1, 1, 2), r(2, 4, *s), r(6, 2, *[3] * d))),
            (f"conv{d}d-depthwise", grad(lambda x, w, f=c: f(x, w, None, 1, 1, 1, 4), r(2, 4, *s), r(4, 1, *[3] * d))),
            (
                f"conv_transpose{d}d",
                grad(lambda x, w, b, f=ct: f(x, w, b, 2, 1, 1), r(2, 4, *s), r(4, 3, *[3] * d), r(3)),
            ),
            (
                f"conv_transpose{d}d-more-taps-than-stride",
                grad(lambda x, w, f=ct: f(x, w, None, 3, 2, 1), r(2, 4, *s), r(4, 3, *[4] * d)),
            ),
            (
                f"conv_transpose{d}d-fewer-taps-than-stride",
                grad(lambda x, w, f=ct: f(x, w, None, 3, 0, 2), r(2, 4, *s), r(4, 3, *[2] * d)),
            ),
            (f"conv{d}d-uncovered", grad(lambda x, w, f=c: f(x, w, None, 3), r(2, 3, *s), r(4, 3, *[2] * d))),
            (
                f"conv_transpose{d}d-groups",
                grad(lambda x, w, f=ct: f(x, w, None, 2, 0, 0, 2, 2), r(1, 4, *s), r(4, 3, *[2] * d)),
            ),
        ]
    return cases


def pools() -> list[Case]:
    x = r(2, 3, 9, 8)
    return [
        ("max_pool2d", grad(lambda v: F.max_pool2d(v, 3, 2, 1), x)),
        ("max_pool2d-dilation", grad(lambda v: F.max_pool2d(v, 2, 1, 1, 2, ceil_mode=True), x)),
        ("max_pool2d-nan", lambda: F.max_pool2d(odd(1, 1, 6, 6), 2, return_indices=True)),
        ("max_pool2d-inf", lambda: F.max_pool2d(torch.full((1, 1, 4, 4), -float("inf")), 3, 1, 1, return_indices=True)),
        ("max_pool1d", grad(lambda v: F.max_pool1d(v, 3, 2, 1), r(2, 3, 9))),
        ("max_pool3d", grad(lambda v: F.max_pool3d(v, 2), r(1, 2, 4, 5, 6))),
        ("avg_pool2d", grad(lambda v: F.avg_pool2d(v, 3, 2, 1), x)),
        ("avg_pool2d-exclude", grad(lambda v: F.avg_pool2d(v, 3, 2, 1, count_include_pad=False), x)),
        ("avg_pool2d-ceil", grad(lambda v: F.avg_pool2d(v, (3, 2), 2, 1, ceil_mode=True), x)),
        ("avg_pool2d-divisor", grad(lambda v: F.avg_pool2d(v, 2, divisor_override=3), x)),
        ("avg_pool1d", grad(lambda v: F.avg_pool1d(v, 2), r(2, 3, 9))),
        ("avg_pool3d", grad(lambda v: F.avg_pool3d(v, 2), r(1, 2, 4, 5, 6))),
        ("adaptive", grad(lambda v: F.adaptive_avg_pool2d(v, (3, 4)), x)),
        ("adaptive-uneven", grad(lambda v: F.adaptive_avg_pool2d(v, (5, 3)), x)),
        ("adaptive-1", grad(lambda v: F.adaptive_avg_pool2d(v, 1), x)),
        ("adaptive-1d", grad(lambda v: F.adaptive_avg_pool1d(v, 3), r(2, 3, 6))),
        ("nearest", grad(lambda v: F.interpolate(v, scale_factor=2), x)),
        ("nearest-size", grad(lambda v: F.interpolate(v, size=(5, 11)), x)),
        ("nearest-1d", grad(lambda v: F.interpolate(v, scale_factor=1.5), r(1, 2, 6))),
        ("bilinear", grad(lambda v: F.interpolate(v, scale_factor=2, mode="bilinear"), x)),
        ("bilinear-aligned", grad(lambda v: F.interpolate(v, size=(5, 13), mode="bilinear", align_corners=True), x)),
        ("linear-1d", grad(lambda v: F.interpolate(v, size=7, mode="linear"), r(1, 2, 4))),
    ]


def shapes() -> list[Case]:
    x = r(3, 4, 5)
    a = torch.ops.aten

    def copies() -> object:
        return (
            a.view_copy(x, [12, 5]),
            a.permute_copy(x, [2, 0, 1]),
            a.expand_copy(r(3, 1), [2, 3, 4]),
            a.select_copy.int(x, 1, -1),
            a.slice_copy.Tensor(x, 2, 1, 5, 2),
            a.slice_copy.Tensor(x, 0, -2, 100, 1),
            a.squeeze_copy.dims(r(1, 3, 1), [0, 2]),
            a.unsqueeze_copy(x, -1),
            a.transpose_copy.int(x, 0, -1),
            a.t_copy(r(2, 3)),
            a.unfold_copy(x, 2, 3, 2),
            a.diagonal_copy(x, 1, 0, 2),
            a.view_copy(r(1, 1), []),
            a.view_copy(torch.tensor(1.0), [1, 1]),
            a.view_copy(r(0, 3), [3, 0]),
            a.view_copy(r(4, 6), [2, 2, 3, 2]),
        )

    return [
        ("copies", copies),
        (
            "cat",
            lambda: (
                torch.cat([x, x, x], 1),
                torch.cat([r(2), ints(3)]),
                torch.cat([torch.empty(0), x], 2),
                torch.cat([r(2, 0), r(2, 3)], 1),
                torch.stack([x, x], -1),
                torch.cat([x]),
            ),
        ),
        ("flip", lambda: (x.flip(0), x.flip([1, 2]), x.roll(2), x.roll((1, -1), (0, 2)))),
        (
            "repeat",
            lambda: (
                x.repeat(2, 1, 3),
                x.repeat(2, 1, 1, 1),
                x.repeat_interleave(2, 1),
                x.repeat_interleave(3),
                torch.tile(r(2), (2, 2)),
            ),
        ),
        ("pad", grad(lambda v: F.pad(v, (1, 2, -1, 0), value=0.5), x)),
        ("pad-int", lambda: (F.pad(ints(3, 4), (1, 1), value=7), F.pad(r(3, 4) > 0, (1, 0)))),
        ("pad-reflect", grad(lambda v: F.pad(v, (2, 1, 1, 2), mode="reflect"), r(1, 2, 4, 5))),
        ("pad-replicate", grad(lambda v: F.pad(v, (2, 1), mode="replicate"), r(1, 2, 4))),
        ("slices", grad(lambda v: v[1:, :, ::2].sum(0) + v[0, :, 1:4], x)),
        (
            "scatters",
            lambda: (
                a.slice_scatter(x, r(3, 2, 5), 1, 0, 4, 2),
                a.select_scatter(x, r(3, 5), 1, 2),
                a.diagonal_scatter(r(4, 4), r(3), 1),
                a.slice_scatter(x, r(2, 4, 5), 0, 1),
            ),
        ),
        ("diagonal", grad(lambda v: torch.diagonal(v, 0, 1, 2), r(2, 4, 4))),
        ("unfold", grad(lambda v: v.unfold(1, 3, 2), r(2, 7))),
        (
            "pixel",
            lambda: (
                F.pixel_shuffle(r(1, 8, 2, 3), 2),
                F.pixel_unshuffle(r(1, 2, 4, 6), 2),
                F.channel_shuffle(r(1, 6, 2, 2), 3),
            ),
        ),
        (
            "split",
            lambda: (a.split_copy.Tensor(x, 2, 1), a.unbind_copy.int(x, 0), a.split_with_sizes_copy(x, [1, 3], 1)),
        ),
    ]


def indexing() -> list[Case]:
    x = r(4, 5, 6)
    i, j = torch.tensor([0, 3, -1]), torch.tensor([[1, 2, 0]])
    g = torch.randint(0, 4, (3, 5, 6))
    m = torch.rand(4, 5, 6) > 0.5
    return [
        ("embedding", grad(lambda w: F.embedding(torch.tensor([[1, 2], [2, 0]]), w), r(4, 3))),
        (
            "embedding-padding",
            grad(lambda w: F.embedding(torch.tensor([1, 2, 2, 0]), w, padding_idx=2, scale_grad_by_freq=True), r(4, 3)),
        ),
        ("gather", grad(lambda v: v.gather(0, g), x)),
        ("index_select", grad(lambda v: v.index_select(1, torch.tensor([3, 0, 3])), x)),
        (
            "index",
            lambda: (
                x[i],
                x[:, i],
                x[i, :, j],
                x[i, j],
                x[:, i, j],
                x[i.int()],
                ints(4, 5)[i],
                x[torch.tensor(2)],
                x[torch.empty(0, dtype=torch.int64)],
            ),
        ),
        ("index-grad", grad(lambda v: v[:, i, j] * 2, x)),
        (
            "index_put",
            lambda: (
                x.index_put((i,), torch.tensor(1.0)),
                x.index_put((i, j), r(1, 3, 6)),
                x.index_put((torch.tensor([1, 1, 2]),), r(3, 5, 6), True),
                x.index_put((m,), torch.tensor(3.0)),
            ),
        ),
        (
            "scatter",
            lambda: (
                x.scatter(0, g, r(3, 5, 6)),
                x.scatter(0, g, 1.5),
                x.scatter_add(0, g, r(3, 5, 6)),
                x.scatter(0, g, r(3, 5, 6), reduce="multiply"),
            ),
        ),
        (
            "scatter_reduce",
            lambda: [
                x.scatter_reduce(0, g, r(3, 5, 6), k, include_self=s)
                for k in ("sum", "prod", "amax", "amin", "mean")
                for s in (True, False)
            ],
        ),
        (
            "index_add",
            lambda: (
                x.index_add(1, torch.tensor([0, 0, 4]), r(4, 3, 6), alpha=2),
                x.index_copy(0, torch.tensor([2, 1]), r(2, 5, 6)),
                x.index_fill(2, torch.tensor([0, 5]), 9.0),
            ),
        ),
        (
            "take",
            lambda: (
                x.take(torch.tensor([0, -1, 50])),
                F.one_hot(torch.tensor([0, 2]), 4),
                torch.isin(ints(5), ints(3)),
                torch.bucketize(r(5), torch.tensor([-1.0, 0.0, 1.0])),
            ),
        ),
        (
            "scatter-0d",
            lambda: (
                torch.tensor(1.0).scatter(0, torch.tensor(0), torch.tensor(2.0)),
                torch.tensor(1.0).gather(0, torch.tensor([0, 0])),
                torch.tensor(5.0).index_select(0, torch.tensor([0])),
            ),
        ),
        (
            "sort",
            lambda: (
                x.sort(1),
                ints(9).sort(descending=True),
                x.topk(3),
                x.topk(2, 0, largest=False),
                odd(3, 9).sort(1),
                torch.argsort(x, 2),
            ),
        ),
        (
            "sdpa",
            grad(
                lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                r(2, 3, 5, 4),
                r(2, 3, 5, 4),
                r(2, 3, 5, 4),
            ),
        ),
        (
            "sdpa-mask",
            grad(
                lambda q, k, v: F.scaled_dot_product_attention(q, k, v, r(5, 7)),
                r(2, 3, 5, 4),
                r(2, 3, 7, 4),
                r(2, 3, 7, 4),
            ),
        ),
        ("rnn", grad(lambda v, h, w, u: torch.rnn_tanh_cell(v, h, w, u), r(3, 4), r(3, 5), r(5, 4), r(5, 5))),
    ]


FAMILIES = {
    f.__name__: f
    for f in (unary, binary, fused, activations, reductions, norms, losses, contractions, pools, shapes, indexing)
}
