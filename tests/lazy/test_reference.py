"""The reference computes a graph's values from those that are given, in either precision."""

from __future__ import annotations

import pytest
import torch

from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, ScalarRef, TensorSpec
from mlirdev.lazy.layouts import TORCH_DTYPES
from mlirdev.lazy.reference import Reference, array_of, bytes_of, seeded, tensor_of

SPEC = TensorSpec((3, 4), DType.f32)
GRAPH = Graph(
    (SPEC,),
    ("float",),
    (
        Node("aten.mul.Tensor", (Ref(0), ScalarRef(0)), (SPEC,)),
        Node("aten.exp.default", (Ref(1),), (SPEC,)),
        Node("aten.tanh.default", (Ref(0),), (SPEC,)),
    ),
    (2, 3),
)


@pytest.mark.parametrize("wide", [False, True])
def test_values_are_pytorchs(wide: bool) -> None:
    x = torch.randn(3, 4)
    reference = Reference(GRAPH, [0.5], wide)
    reference.give(0, x)
    y = x.double() if wide else x
    assert torch.equal(reference.value(2), (y * 0.5).exp())
    assert reference.between(3) == [2]
    assert reference.between(0) == []


def test_what_is_given_is_where_computing_starts() -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    reference = Reference(GRAPH, [0.5])
    reference.give(0, x)
    assert reference.between(2) == [0, 1]
    reference.value(2)
    reference.give(1, y)
    reference.forget_computed()
    assert reference.between(2) == [1]
    assert torch.equal(reference.value(2), y.exp())


@pytest.mark.parametrize("dtype", list(DType), ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (0, 2), ()])
def test_bytes_are_a_tensors_memory(dtype: DType, shape: tuple[int, ...]) -> None:
    spec = TensorSpec(shape, dtype)
    tensor = seeded(spec, 3)
    assert tensor.dtype == TORCH_DTYPES[dtype]
    data = bytes_of(tensor)
    assert len(data) == tensor.numel() * dtype.itemsize
    again = tensor_of(data, spec)
    assert bytes_of(again) == data
    assert array_of(again).shape == shape


def test_zeros_without_memory_are_zeros() -> None:
    zeros = torch._efficientzerotensor((2, 3))
    assert array_of(zeros).tolist() == [[0.0] * 3] * 2
    assert bytes_of(zeros) == bytes(24)
