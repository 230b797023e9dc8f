"""Overloads that no OpInfo sample reaches on the CPU, but the device does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mlirdev.lazy.specs import Meta, OutSpec, rule_for
from tests.lazy.specs.capture import Capture

aten = torch.ops.aten
f32 = torch.rand
ints = torch.ones(3, dtype=torch.int64)

CALLS: list[Callable[[], Any]] = [
    lambda: aten.native_dropout(f32(3, 4), 0.5, True),
    lambda: aten.native_dropout(f32(4, 3).mT, 0.5, False),
    lambda: aten._native_batch_norm_legit_functional(f32(2, 3, 4), f32(3), f32(3), f32(3), f32(3), True, 0.1, 1e-5),
    lambda: aten._native_batch_norm_legit_no_training(f32(2, 3, 4), f32(3), f32(3), f32(3), f32(3), 0.1, 1e-5),
    lambda: aten._fused_rms_norm(f32(2, 3), [3], f32(3), 1e-5),
    lambda: aten.zero(f32(3, 2).mT),
    lambda: aten.range(0, 5, device="cpu"),
    lambda: aten.range.step(0, 5, 2, device="cpu"),
    lambda: aten.norm.Scalar(f32(3), 2),
    lambda: aten.norm.ScalarOpt_dtype(f32(3), 2, dtype=torch.float64),
    lambda: aten.slice_copy(f32(5, 3), 0, -3, 4, 2),
    lambda: aten.select_copy(f32(5, 3), -1, 2),
    lambda: aten.index_put(f32(3, 4), [ints > 0], f32(4)),
    lambda: aten.special_hermite_polynomial_h.n_scalar(f32(3), 2),
    lambda: aten.special_hermite_polynomial_h.x_scalar(2, f32(3)),
    lambda: aten.bitwise_and.Scalar(ints, 1),
    lambda: aten.floor_divide.Scalar(ints, 2),
    lambda: aten.fmod.Scalar(f32(3), 2),
    lambda: aten.clamp_max(ints, 1.5),
    lambda: aten.div.Scalar_mode(ints, 2, rounding_mode="floor"),
    lambda: aten.rand_like(f32(4, 3).mT),
    lambda: aten.argsort.stable(f32(3, 4), stable=True, dim=0),
    lambda: aten.bucketize.Scalar(0.5, f32(4)),
    lambda: aten.isin.Scalar_Tensor(1, ints),
    lambda: aten.isin.Tensor_Scalar(ints, 1),
    lambda: aten._upsample_bicubic2d_aa(f32(1, 2, 4, 4), [8, 8], False),
    lambda: aten._upsample_bicubic2d_aa_backward(f32(1, 2, 8, 8), [8, 8], [1, 2, 4, 4], False),
    lambda: aten._is_all_true(ints > 0),
    lambda: aten.lift_fresh_copy(f32(3, 2).mT),
    lambda: aten.detach_copy(f32(3, 2)),
    lambda: aten.copy(f32(3, 2), f32(2)),
    lambda: aten.fill.Tensor(f32(3, 2), torch.tensor(1.0)),
    lambda: aten.unsafe_split_with_sizes(f32(5, 2), [2, 3]),
    lambda: aten.squeeze_copy.dims(f32(1, 3, 1), [0, 2]),
    lambda: aten.roll(f32(2, 3, 4, 4).to(memory_format=torch.channels_last), [1], [0]),
    lambda: aten.roll(f32(2, 3, 4, 4).to(memory_format=torch.channels_last), [1, -1], [2, 1]),
    lambda: aten.roll(f32(2, 3, 4, 4).to(memory_format=torch.channels_last), [1]),
    lambda: aten.roll(f32(2, 3, 4, 4).to(memory_format=torch.channels_last), [4], [2]),
    lambda: aten.roll(f32(2, 3, 4, 4).permute(2, 3, 0, 1), [1], [0]),
    lambda: aten._scaled_dot_product_flash_attention_for_cpu(*[f32(2, 5, 3, 4).transpose(1, 2) for _ in range(3)]),
    lambda: aten.stack([f32(2, 3, 4, 4).to(memory_format=torch.channels_last)] * 2, 1),
    lambda: aten.index.Tensor(f32(2, 4, 0, 1), [torch.zeros(2, dtype=torch.int64)]),
    lambda: aten._unsafe_index_put(f32(3, 4), [torch.zeros(2, dtype=torch.int64)], f32(4)),
    lambda: aten._unsafe_index(f32(3, 4), [None, torch.zeros(2, dtype=torch.int64)]),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_rows_answer_as_eager(call: Callable[[], Any]) -> None:
    with Capture() as mode:
        call()
    assert mode.calls
    for seen in mode.calls:
        rule = rule_for(seen.op)
        assert rule is not None, seen.op
        assert rule(seen.args) == seen.results, seen


def answer(name: str, *args: Any) -> tuple[OutSpec | None, ...] | None:
    rule = rule_for(name)
    assert rule is not None
    return rule(args)


@pytest.mark.parametrize("lead", [(), (5,), (2, 5), (0, 5)])
def test_linear_and_its_backward(lead: tuple[int, ...]) -> None:
    x, weight, bias = f32(*lead, 3, requires_grad=True), f32(4, 3, requires_grad=True), f32(4, requires_grad=True)
    y = torch.nn.functional.linear(x, weight, bias)
    f = torch.float32
    x_meta, w_meta = Meta((*lead, 3), f), Meta((4, 3), f)
    assert answer("aten.linear.default", x_meta, w_meta, Meta((4,), f)) == (OutSpec(tuple(y.shape), f),)
    grads = answer("aten.linear_backward.default", x_meta, Meta((*lead, 4), f), w_meta, (True, True, True))
    y.sum().backward()
    assert grads == tuple(OutSpec(tuple(t.grad.shape), f) for t in (x, weight, bias) if t.grad is not None)
    assert answer("aten.linear_backward.default", x_meta, Meta((*lead, 4), f), w_meta, (False, True, False)) == (
        None,
        OutSpec((4, 3), f),
        None,
    )


def test_linear_of_wrong_sizes_reads_as_eager() -> None:
    with pytest.raises(RuntimeError) as eager:
        torch.nn.functional.linear(f32(2, 3), f32(5, 4))
    with pytest.raises(RuntimeError) as ours:
        answer("aten.linear.default", Meta((2, 3), torch.float32), Meta((5, 4), torch.float32), None)
    assert str(ours.value) == str(eager.value)


def test_a_mask_as_an_index_is_left_to_a_run() -> None:
    mask = Meta((3,), torch.bool)
    assert answer("aten.index.Tensor", Meta((3, 4), torch.float32), (mask,)) is None
    assert rule_for("aten.nonzero.default") is None
