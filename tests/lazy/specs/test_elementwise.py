"""Type promotion and TensorIterator's strides, against CPU eager on generated operands."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlirdev.lazy.specs import Meta, OutSpec, rule_for
from tests.lazy.specs.capture import WRAPPED_DTYPES, meta_of, specs_of

aten = torch.ops.aten
DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.int8,
    torch.uint8,
]
DTYPES += [torch.bool, torch.complex64]
NUMBERS = [True, 2, 2.5, 1j]


def answer(name: str, *args: Any) -> OutSpec:
    rule = rule_for(name)
    assert rule is not None
    specs = rule(args)
    assert specs is not None
    assert specs[0] is not None
    return specs[0]


def operands() -> list[Any]:
    """A tensor with dims, a 0-d tensor, per dtype; and numbers."""
    tensors = [torch.ones(shape, dtype=dtype) for dtype in DTYPES for shape in ((2,), ())]
    return [*tensors, *NUMBERS]


def as_meta(operand: Any) -> Meta:
    if isinstance(operand, torch.Tensor):
        return meta_of(operand)
    return Meta((), WRAPPED_DTYPES[type(operand)], None, True)


def test_every_pair_of_operands_promotes_as_eager() -> None:
    for a, b in itertools.product(operands(), repeat=2):
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            assert answer("aten.mul.Tensor", as_meta(a), as_meta(b)).dtype == torch.result_type(a, b), (a, b)


@pytest.mark.parametrize("default", [torch.float64, torch.float32])
def test_numbers_follow_the_default_dtype(default: torch.dtype) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        ints = torch.ones(2, dtype=torch.int64)
        assert answer("aten.mul.Scalar", meta_of(ints), 0.5).dtype is default
        assert answer("aten.sqrt.default", meta_of(ints)).dtype is default
        assert answer("aten.zeros.default", (2,), None, None, None, None).dtype is default
    finally:
        torch.set_default_dtype(before)


@st.composite
def strided(draw: st.DrawFn, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor that broadcasts to `shape`: permuted in memory, with gaps, expanded, or with dims of size 1."""
    kept = [size if draw(st.booleans()) else 1 for size in shape]
    kept = kept[draw(st.integers(0, len(kept))) :] if draw(st.booleans()) else kept
    order = draw(st.permutations(range(len(kept))))
    gaps = draw(st.lists(st.integers(1, 2), min_size=len(kept), max_size=len(kept)))
    memory = torch.ones([kept[i] * gaps[i] for i in order])
    tensor = memory.permute([order.index(i) for i in range(len(kept))])
    tensor = tensor[tuple(slice(None, None, gap) for gap in gaps)]
    return tensor.expand(shape) if draw(st.booleans()) else tensor


@st.composite
def operand_lists(draw: st.DrawFn) -> list[torch.Tensor]:
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=5)))
    return draw(st.lists(strided(shape), min_size=3, max_size=3))


@given(operand_lists())
@settings(max_examples=100, deadline=None)
def test_strides_are_as_eager_gives_them(tensors: list[torch.Tensor]) -> None:
    a, b, c = tensors
    assert answer("aten.neg.default", meta_of(a)) == specs_of(aten.neg(a))[0]
    assert answer("aten.add.Tensor", meta_of(a), meta_of(b), 1) == specs_of(aten.add(a, b))[0]
    assert answer("aten.addcmul.default", *map(meta_of, tensors), 1) == specs_of(aten.addcmul(a, b, c))[0]
    assert answer("aten.where.self", meta_of(a > 0), meta_of(b), meta_of(c)) == specs_of(aten.where(a > 0, b, c))[0]


@given(operand_lists())
@settings(max_examples=60, deadline=None)
def test_copies_keep_the_layouts_that_eager_keeps(tensors: list[torch.Tensor]) -> None:
    tensor = tensors[0]
    assert answer("aten.clone.default", meta_of(tensor), None) == specs_of(aten.clone(tensor))[0]
    like = answer("aten.ones_like.default", meta_of(tensor), None, None, None, None, None)
    assert like == specs_of(aten.ones_like(tensor))[0]


@given(operand_lists(), st.data())
@settings(max_examples=60, deadline=None)
def test_advanced_indexing_lays_out_as_eager(tensors: list[torch.Tensor], data: st.DataObject) -> None:
    tensor = tensors[0]
    block = data.draw(st.sampled_from([(), (2,), (2, 3), (1, 3)]))
    zeros = torch.zeros(block, dtype=torch.int64)
    chosen = [bool(size) and data.draw(st.booleans()) for size in tensor.shape]
    if not any(chosen):
        return
    indices = [zeros if c else None for c in chosen]
    metas = tuple(meta_of(i) if i is not None else None for i in indices)
    assert answer("aten.index.Tensor", meta_of(tensor), metas) == specs_of(aten.index(tensor, indices))[0]
