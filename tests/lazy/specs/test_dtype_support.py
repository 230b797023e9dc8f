"""Each row of the table of refused element types, against CPU eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mlirdev.lazy.specs import rule_for
from mlirdev.lazy.specs.dtype_support import TABLE
from tests.lazy.specs.capture import rule_args

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool]
DTYPES += [torch.complex64]

# Arguments beside the tensors, where a schema wants some.
MORE: dict[str, tuple[Any, ...]] = {
    "aten.logit_backward.default": (None,),
    "aten.glu.default": (-1,),
    "aten.native_layer_norm.default": ([4], None, None, 1e-5),
}

SCALES = {
    f"aten.{name}{rank}d.default": rank
    for rank, names in {
        1: "upsample_nearest _upsample_nearest_exact upsample_linear",
        2: "upsample_nearest _upsample_nearest_exact upsample_bilinear upsample_bicubic",
        3: "upsample_nearest _upsample_nearest_exact upsample_trilinear",
    }.items()
    for name in names.split()
}
SCALES |= {f"aten._upsample_{name}2d_aa.default": 2 for name in ("bilinear", "bicubic")}
POOLS = {f"aten.{name}_pool{rank}d.default": rank for name in ("_adaptive_avg", "adaptive_max") for rank in (2, 3)}

KEYWORDS: dict[str, dict[str, Any]] = {"aten.sort.stable": {"stable": True}}


def operator(name: str) -> torch._ops.OpOverload:
    _, base, overload = name.split(".")
    found: torch._ops.OpOverload = getattr(getattr(torch.ops.aten, base), overload)
    return found


def arguments(op: torch._ops.OpOverload, dtype: torch.dtype) -> tuple[Any, ...]:
    """Tensors of one dtype for the leading required tensor arguments, numbers for required numbers."""
    required = [a for a in op._schema.arguments if not a.has_default_value()]
    leading = [a for a in required if str(a.type) in ("Tensor", "number")]
    # A float number would promote integers: the number is of the tensors' own kind.
    return tuple(torch.ones(4, 4, dtype=dtype) if str(a.type) == "Tensor" else 1 for a in leading)


def images(name: str, dtype: torch.dtype) -> tuple[Any, ...]:
    """Of an operator on images, resized or pooled to 3 in each dim."""
    rank = SCALES[name] if name in SCALES else POOLS[name]
    x, size = torch.ones(2, 3, *[4] * rank).to(dtype), [3] * rank
    return (x, size) if name in POOLS or "nearest" in name else (x, size, False)


WINDOWS: dict[str, tuple[Any, ...]] = {
    "aten.im2col.default": ((1, 2, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1]),
    "aten.col2im.default": ((1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
    "aten.avg_pool2d.default": ((1, 2, 4, 4), [2, 2]),
    "aten.avg_pool3d.default": ((1, 2, 4, 4, 4), [2, 2, 2]),
    "aten.max_pool2d_with_indices.default": ((1, 2, 4, 4), [2, 2]),
}


def called(name: str, dtype: torch.dtype) -> tuple[Any, ...]:
    """The arguments of a call that is right but for its element type."""
    if name in WINDOWS:
        return (torch.ones(WINDOWS[name][0]).to(dtype), *WINDOWS[name][1:])
    if "max_unpool" in name:
        rank = 2 if "2d" in name else 3
        index = torch.zeros(1, 1, *[2] * rank, dtype=torch.int64)
        return (torch.ones(index.shape).to(dtype), index, [4] * rank, *([[2] * rank, [0] * rank] if rank == 3 else []))
    if name in SCALES or name in POOLS:
        return images(name, dtype)
    if name.startswith("aten.multi"):
        target = torch.zeros(4, dtype=torch.int64)
        return (torch.ones(4).to(dtype), target, 0) if "label" in name else (torch.ones(4, 4).to(dtype), target)
    if name == "aten._pdist_forward.default":
        return (torch.ones(4, 4).to(dtype), 2.0)
    return (*arguments(operator(name), dtype), *MORE.get(name, ()))


def outcome(call: Any) -> tuple[type[Exception], str] | None:
    try:
        call()
    except Exception as error:
        return type(error), str(error).split("\n")[0]
    return None


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_dtypes_are_refused_in_the_same_words(name: str) -> None:
    op, rule = operator(name), rule_for(name)
    assert rule is not None
    more = KEYWORDS.get(name, {})
    for dtype in DTYPES:
        args = called(name, dtype)
        eager = outcome(lambda args=args: op(*args, **more))
        ours = outcome(lambda args=args: rule(rule_args(op, args, more)))
        assert ours == eager, dtype
