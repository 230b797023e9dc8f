"""Wrong arguments: a rule refuses what CPU eager refuses, with the same exception type and message."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from mlirdev.lazy.specs import rule_for
from tests.lazy.specs.capture import CaptureRefusals, Refusal, refusals_of

aten = torch.ops.aten
f32 = torch.rand
INTS, BOOLS = torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)

# Eager looks at values, or at the storage's size.
ONLY_VALUES_TELL = re.compile(r"index \d+ is out of bounds|setStorage")
# The same refusal in other words: which empty dim is named, and an internal assertion.
OTHER_WORDS = {"aten.max_pool3d_with_indices.default", "aten.narrow_copy.default"}


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def difference(refusal: Refusal) -> str | None:
    rule = rule_for(refusal.op)
    if rule is None or ONLY_VALUES_TELL.search(str(refusal.error)):
        return None
    try:
        rule(refusal.args)
    except Exception as error:
        same = type(error) is type(refusal.error) and first_line(error) == first_line(refusal.error)
        return None if same or refusal.op in OTHER_WORDS else f"{refusal}\n    rule {error!r}"
    return f"{refusal}\n    accepted"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_error_samples_are_refused_as_by_eager() -> None:
    problems = [p for info in op_db for refusal in refusals_of(info) if (p := difference(refusal))]
    assert not problems, "\n".join(problems)


MISTAKES: list[Callable[[], Any]] = [
    lambda: f32(2, 3) @ f32(4, 5),
    lambda: aten.mm(f32(2, 3), f32(3)),
    lambda: aten.mm(f32(2, 3), f32(3, 2).double()),
    lambda: aten.addmm(f32(4), f32(2, 3), f32(4, 5)),
    lambda: aten.addmm(f32(4), f32(2, 3), f32(3, 5)),
    lambda: aten.bmm(f32(2, 3, 4), f32(3, 4, 5)),
    lambda: aten.bmm(f32(2, 3), f32(3, 4, 5)),
    lambda: aten.bmm(f32(2, 3, 4), f32(2, 4, 5).double()),
    lambda: aten.mv(f32(2, 3), f32(4)),
    lambda: aten.dot(f32(3), f32(4)),
    lambda: aten.dot(f32(3, 1), f32(3)),
    lambda: aten.dot(f32(3), f32(3).double()),
    lambda: f32(3) + f32(4),
    lambda: f32(2, 3) * f32(4, 3),
    lambda: aten.where(f32(3), f32(3), f32(3)),
    lambda: aten.lerp(f32(3), f32(3).double(), 0.5),
    lambda: torch.ones(3, dtype=torch.bool) - torch.ones(3, dtype=torch.bool),
    lambda: -torch.ones(3, dtype=torch.bool),
    *(lambda f=f, a=a: f(INTS, INTS, alpha=a) for f in (torch.add, torch.sub, torch.rsub) for a in (0.5, True)),
    *(lambda d=d: torch.round(INTS, decimals=d) for d in (0, 2)),
    *(lambda b=b: torch.clamp(BOOLS, *b) for b in ((True, None), (None, True), (True, True), (BOOLS, BOOLS))),
    *(lambda m=m: torch.div(BOOLS, BOOLS, rounding_mode=m) for m in ("trunc", "floor")),
    lambda: aten.ldexp(f32(3), BOOLS),
    lambda: aten.hardtanh(INTS.byte()),
    lambda: f32(3) & f32(3),
    lambda: torch.ones(3, dtype=torch.int64) ** -1,
    lambda: aten.sum(f32(2, 3), [2]),
    lambda: aten.sum(f32(2, 3), [0, -2]),
    lambda: aten.mean(torch.ones(3, dtype=torch.int64)),
    lambda: aten.max(f32(0)),
    lambda: aten.max(f32(2, 0), 1),
    lambda: aten.argmax(f32(0)),
    lambda: aten.amax(f32(2, 0), [1]),
    lambda: aten.var(torch.ones(3, dtype=torch.int64), [0]),
    lambda: aten._softmax(f32(2, 3), 5, False),
    lambda: aten.cumsum(f32(2, 3), 2),
    lambda: aten.cat([f32(2, 3), f32(3, 2)], 0),
    lambda: aten.cat([f32(2, 3), f32(3)], 0),
    lambda: aten.stack([f32(2, 3), f32(3, 2)]),
    lambda: aten.repeat(f32(2, 3), [2]),
    lambda: aten.flip(f32(2, 3), [0, 0]),
    lambda: aten.constant_pad_nd(f32(2, 3), [1]),
    lambda: aten.embedding(f32(5, 3), f32(2)),
    lambda: aten.embedding(f32(5), torch.zeros(2, dtype=torch.int64)),
    lambda: aten.gather(f32(2, 3), 2, torch.zeros(2, 3, dtype=torch.int64)),
    lambda: aten.gather(f32(2, 3), 0, f32(2, 3)),
    lambda: aten.gather(f32(2, 3), 0, torch.zeros(2, dtype=torch.int64)),
    lambda: aten.scatter(f32(2, 3), 0, torch.zeros(2, 3, dtype=torch.int64), f32(2, 3).double()),
    lambda: aten.index_select(f32(2, 3), 0, torch.zeros(1, 1, dtype=torch.int64)),
    lambda: aten.index(f32(2, 3), [torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)]),
    lambda: aten.index(f32(2, 3), [f32(2)]),
    lambda: aten.index(f32(2), [torch.zeros(2, dtype=torch.int64)] * 2),
    lambda: aten.index_put(f32(2, 3), [torch.zeros(2, dtype=torch.int64)], f32(3).double()),
    lambda: aten.masked_fill(f32(3), f32(3), 1),
    lambda: aten.convolution(f32(1, 3, 8, 8), f32(4, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(1, 3, 2, 2), f32(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(1, 3, 8, 8), f32(4, 3, 3, 3), f32(3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(1, 3, 8, 8), f32(4, 3, 3, 3).double(), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(3, 8, 8), f32(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(1, 3, 8, 8), f32(4, 3, 3, 3), None, [0, 1], [0, 0], [1, 1], False, [0, 0], 1),
    lambda: aten.convolution(f32(1, 4, 8, 8), f32(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2),
    lambda: aten.convolution(f32(1, 3, 8, 8), f32(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1),
    lambda: aten.max_pool2d_with_indices(f32(1, 3, 2, 2), [3, 3]),
    lambda: aten.max_pool2d_with_indices(f32(1, 3, 8, 8), [3, 3], [1, 1], [2, 2]),
    lambda: aten.avg_pool2d(f32(1, 3, 8, 8), [0, 0]),
    lambda: aten.native_layer_norm(f32(2, 3), [4], None, None, 1e-5),
    lambda: aten.native_layer_norm(f32(2, 3), [3], f32(4), None, 1e-5),
    lambda: aten.native_group_norm(f32(2, 3, 4), None, None, 2, 3, 4, 2, 1e-5),
    lambda: aten.nll_loss_forward(f32(3, 5), torch.zeros(4, dtype=torch.int64), None, 1, -100),
    lambda: aten.nll_loss_forward(f32(3, 5), torch.zeros(3, dtype=torch.int64), f32(4), 1, -100),
    lambda: aten.nll_loss_forward(f32(3, 5), f32(3), None, 1, -100),
    lambda: aten.mse_loss(f32(3), f32(4)),
    lambda: aten.binary_cross_entropy(f32(3), f32(4)),
    lambda: aten.sort(f32(3), 1),
    lambda: aten.topk(f32(3), 4),
    lambda: aten.kthvalue(f32(3), 4),
    lambda: aten.arange(5, 1),
    lambda: aten.arange(0, 5, 0),
    lambda: aten.zeros([-1], device="cpu"),
    lambda: aten.full([2, -3], 1.0, device="cpu"),
    lambda: aten.eye(-1, device="cpu"),
    lambda: aten.linspace(0, 1, -1, device="cpu"),
    lambda: aten.glu(f32(3)),
    lambda: aten.relu(torch.ones(3, dtype=torch.bool)),
    lambda: aten.gelu(torch.ones(3, dtype=torch.int64)),
    lambda: aten.upsample_nearest2d(f32(3, 4, 4), [8, 8]),
    lambda: aten.pixel_shuffle(f32(1, 3, 4, 4), 2),
    lambda: aten.tril(f32(3)),
    lambda: aten.clone(f32(3), memory_format=torch.channels_last),
    lambda: aten.triu(f32(3)),
    lambda: aten.linalg_cholesky_ex(f32(2, 3)),
    lambda: aten._cdist_forward(f32(2, 3), f32(2, 4), 2.0, None),
]


def eager_refusals(mistake: Callable[[], Any]) -> list[Refusal]:
    mode: TorchDispatchMode
    with pytest.raises(Exception, match=r"."), CaptureRefusals() as mode:
        mistake()
    return mode.refusals


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_common_mistakes_are_told_as_by_eager(mistake: Callable[[], Any]) -> None:
    refusals = eager_refusals(mistake)
    assert refusals, "eager refused it before any aten call"
    problems = [p for refusal in refusals if (p := difference(refusal))]
    assert not problems, "\n".join(problems)
