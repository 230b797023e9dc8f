"""Run a Graph on numpy arrays through the compiler and the runtime, without PyTorch's dispatcher."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirdev import compiler
from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, ScalarRef, TensorSpec
from mlirdev.plan import evaluate
from mlirdev.runtime import Buffer, Device

Array = np.ndarray[Any, Any]
NUMPY = {DType.f32: np.float32, DType.f64: np.float64, DType.i64: np.int64, DType.i1: np.bool_}
device = Device(1 << 30)


def spec(*shape: int, dtype: DType = DType.f32) -> TensorSpec:
    return TensorSpec(shape, dtype)


def add_graph(*shape: int) -> Graph:
    """x + scalar."""
    return Graph(
        (spec(*shape),), ("float",), (Node("aten.add.Tensor", (Ref(0), ScalarRef(0), 1), (spec(*shape),)),), (1,)
    )


def matmul_graph(m: int, k: int, n: int) -> Graph:
    return Graph((spec(m, k), spec(k, n)), (), (Node("aten.mm.default", (Ref(0), Ref(1)), (spec(m, n),)),), (2,))


def run(
    graph: Graph, arrays: Sequence[Array], scalars: Sequence[float] = ()
) -> tuple[list[Array], compiler.Executable]:
    executable, syms = compiler.executable_for(graph)
    inputs = [_put(a) for a in arrays]
    outputs = executable.run(device.default_stream, inputs, list(scalars), syms, 1, _describe, True)
    specs = [executable.graph.specs[v] for v in executable.graph.outputs]
    return [_get(b, s, syms) for b, s in zip(outputs, specs, strict=True)], executable


def _describe(*details: object) -> Exception:
    return IndexError(str(details))


def _memory(buffer: Buffer) -> Array:
    return np.ctypeslib.as_array((ctypes.c_uint8 * buffer.nbytes).from_address(buffer.address))


def _put(array: Array) -> Buffer:
    buffer = device.allocator.allocate(array.nbytes, device.default_stream)
    _memory(buffer)[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    return buffer


def _get(buffer: Buffer, spec: TensorSpec, syms: tuple[int, ...]) -> Array:
    buffer.check()
    shape = [evaluate(d, syms) for d in spec.shape]
    return _memory(buffer).view(NUMPY[spec.dtype])[: int(np.prod(shape))].reshape(shape).copy()
