"""One Graph node, run by PyTorch on the CPU: the fallback in a plan, and the reference interpreter.

The operands are memory (an address each), looked at without a copy; so are the results, into which the
op's answer is copied.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError
from mlirdev.graph import Arg, Node, Ref, ScalarRef, Size, TensorSpec
from mlirdev.lazy.host_ops import OWN_OPS
from mlirdev.lazy.layouts import TORCH_DTYPES

Scalar = float | int | bool
Memory = tuple[TensorSpec, int]


def tensor_at(address: int, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A CPU tensor on memory that exists already, and must outlive it."""
    nbytes = math.prod(shape) * dtype.itemsize
    if not nbytes:
        return torch.empty(tuple(shape), dtype=dtype)
    memory = (ctypes.c_char * nbytes).from_address(address)
    return torch.frombuffer(memory, dtype=dtype).view(tuple(shape))


def run_node(node: Node, operands: Sequence[Tensor], scalars: Sequence[Scalar]) -> list[Tensor]:
    """The results of a node for these operands (in the order of `Node.operands()`), as the graph specifies them."""
    tensors = iter(operands)
    args = [_value(arg, tensors, scalars) for arg in node.args]
    with torch.no_grad():
        answer = function_of(node.op)(*args)
    results = [t for t in flat(answer) if t is not None]
    if len(results) != len(node.results):
        raise InternalError(f"{node.op} returned {len(results)} tensors where the graph has {len(node.results)}")
    return [_as_specified(node.op, t, spec) for t, spec in zip(results, node.results, strict=True)]


def run_in_memory(node: Node, operands: Sequence[Memory], results: Sequence[Memory], scalars: Sequence[Scalar]) -> None:
    """Like `run_node`, from memory into memory: the compiler's HostExecutor."""
    answers = run_node(node, [_at(memory) for memory in operands], scalars)
    for memory, answer in zip(results, answers, strict=True):
        _at(memory).copy_(answer)


def _at(memory: Memory) -> Tensor:
    spec, address = memory
    return tensor_at(address, [_static(d) for d in spec.shape], TORCH_DTYPES[spec.dtype])


def _static(dim: object) -> int:
    if not isinstance(dim, int):
        raise InternalError(f"a host node with a size that isn't known: {dim}")
    return dim


def _value(arg: Arg, tensors: Iterator[Tensor], scalars: Sequence[Scalar]) -> Any:
    if isinstance(arg, Ref):
        return next(tensors)
    if isinstance(arg, ScalarRef):
        return scalars[arg.index]
    if isinstance(arg, Size):
        return _static(arg.value)
    if isinstance(arg, DType):
        return TORCH_DTYPES[arg]
    return [_value(a, tensors, scalars) for a in arg] if isinstance(arg, tuple) else arg


@functools.cache
def function_of(op: str) -> Callable[..., Any]:
    """The function behind an overload's full name: one of ours, or PyTorch's."""
    if op in OWN_OPS:
        return OWN_OPS[op]
    namespace, name, overload = op.rsplit(".", 2)
    function: Callable[..., Any] = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    positional, keywords = parameters_of(function)
    if not keywords:
        return function

    def call(*args: Any) -> Any:
        return function(*args[:positional], **dict(zip(keywords, args[positional:], strict=True)))

    return call


def parameters_of(function: Any) -> tuple[int, list[str]]:
    """How many parameters of an overload are positional, and the names of the others, which follow."""
    arguments = function._schema.arguments
    keywords = [a.name for a in arguments if a.kwarg_only]
    return len(arguments) - len(keywords), keywords


def keywords_of(op: str) -> tuple[int, list[str]]:
    """The same of an overload of PyTorch's by its full name."""
    namespace, name, overload = op.rsplit(".", 2)
    return parameters_of(getattr(getattr(getattr(torch.ops, namespace), name), overload))


def flat(answer: object) -> list[Tensor | None]:
    """What an op returned as one list."""
    if answer is None or isinstance(answer, Tensor):
        return [answer]
    assert isinstance(answer, (tuple, list)), f"an op returned {type(answer).__name__}"
    return [t for a in answer for t in flat(a)]


def _as_specified(op: str, tensor: Tensor, spec: TensorSpec) -> Tensor:
    if tuple(tensor.shape) != spec.shape:
        raise InternalError(f"{op} returned shape {list(tensor.shape)} where the graph has {spec}")
    return tensor.to(TORCH_DTYPES[spec.dtype]).resolve_conj().resolve_neg().contiguous()
