"""The values of a graph as PyTorch's CPU ops compute them, from those values that are given.

    given: inputs, or what a kernel made ─► nodes between, each by its CPU op ─► the value asked for

With `wide`, the same in the other precision: float64 for narrower floats, float32 for float64. How far both are apart
says how much of a difference is rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Graph, Node, TensorSpec
from mlirdev.lazy.host import Scalar, run_node, tensor_at
from mlirdev.lazy.layouts import TORCH_DTYPES

_OTHER = {
    DType.f16: DType.f64,
    DType.bf16: DType.f64,
    DType.f32: DType.f64,
    DType.f64: DType.f32,
    DType.c64: DType.c128,
    DType.c128: DType.c64,
}
_DTYPES = {torch_dtype: dtype for dtype, torch_dtype in TORCH_DTYPES.items()}


class Reference:
    """See the module's docstring; the graph's sizes are fixed."""

    def __init__(self, graph: Graph, scalars: Sequence[Scalar], wide: bool = False) -> None:
        self.graph = graph
        self._scalars = scalars
        self._wide = wide
        self._given: dict[int, Tensor] = {}
        self._computed: dict[int, Tensor] = {}
        self._producer = {
            first + i: position
            for position, (node, first) in enumerate(zip(graph.nodes, graph.first_result, strict=True))
            for i in range(len(node.results))
        }

    def give(self, value: int, tensor: Tensor) -> None:
        """Take this for a value from now on."""
        dtype = _DTYPES[tensor.dtype]
        self._given[value] = tensor.to(TORCH_DTYPES[_OTHER.get(dtype, dtype)]) if self._wide else tensor

    def forget_computed(self) -> None:
        """Compute again what isn't given: something was given that it may follow from."""
        self._computed.clear()

    def is_given(self, value: int) -> bool:
        return value in self._given

    def between(self, value: int) -> list[int]:
        """The nodes that compute a value from the given ones, in order."""
        found: set[int] = set()
        pending = [value]
        while pending:
            at = pending.pop()
            if at in self._given or at not in self._producer or self._producer[at] in found:
                continue
            found.add(self._producer[at])
            pending += self.graph.nodes[self._producer[at]].operands()
        return sorted(found)

    def value(self, number: int) -> Tensor:
        """A value, given or computed. Raises what PyTorch raises."""
        for position in self.between(number):
            first = self.graph.first_result[position]
            node = self.graph.nodes[position]
            if first in self._computed or not node.results:
                continue
            operands = [self._have(v) for v in node.operands()]
            for i, result in enumerate(run_node(_other(node) if self._wide else node, operands, self._scalars)):
                self._computed[first + i] = result
        return self._have(number)

    def _have(self, number: int) -> Tensor:
        return self._given[number] if number in self._given else self._computed[number]


def _other(node: Node) -> Node:
    """The node in the other precision."""
    results = tuple(TensorSpec(spec.shape, _OTHER.get(spec.dtype, spec.dtype)) for spec in node.results)
    return Node(node.op, tuple(map(_other_arg, node.args)), results)


def _other_arg(arg: Arg) -> Arg:
    if isinstance(arg, tuple):
        return tuple(map(_other_arg, arg))
    return _OTHER.get(arg, arg) if isinstance(arg, DType) else arg


def read_memory(address: int, shape: Sequence[int], dtype: DType) -> Tensor:
    """A copy of memory as a CPU tensor."""
    return tensor_at(address, shape, TORCH_DTYPES[dtype]).clone()


def tensor_of(data: bytes, spec: TensorSpec) -> Tensor:
    """A CPU tensor of these bytes; the spec's sizes are ints."""
    shape = [dim for dim in spec.shape if isinstance(dim, int)]
    if not math.prod(shape):
        return torch.empty(shape, dtype=TORCH_DTYPES[spec.dtype])
    return torch.frombuffer(bytearray(data), dtype=TORCH_DTYPES[spec.dtype]).view(shape).clone()


def bytes_of(tensor: Tensor) -> bytes:
    """A tensor's elements, dense and row-major, as they lie in memory."""
    return _dense(tensor).reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def array_of(tensor: Tensor) -> Any:
    """A numpy array to compute with: of floats that numpy lacks, as float32."""
    lacking = (torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn)
    return _dense(tensor.float() if tensor.dtype in lacking else tensor).numpy()


def _dense(tensor: Tensor) -> Tensor:
    """With memory of its own, which autograd's zeros have none of."""
    return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor._is_zerotensor() else tensor.contiguous()


def seeded(spec: TensorSpec, seed: int) -> Tensor:
    """Some values for an input: normal floats, small whole numbers (an index rarely falls outside)."""
    generator = torch.Generator().manual_seed(seed)
    shape = [dim for dim in spec.shape if isinstance(dim, int)]
    dtype = TORCH_DTYPES[spec.dtype]
    if spec.dtype is DType.i1 or spec.dtype.is_integer:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if spec.dtype.is_complex:
        return torch.complex(*(torch.randn(shape, generator=generator, dtype=torch.float64) for _ in "ri")).to(dtype)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
