"""Which operator calls a piece of PyTorch code makes, and whether ours give the same."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mlirdev import importer
from mlirdev.errors import LoweringError

from .capture import call_graph, calls_graph, name_of
from .execute import Program

TOLERANCE = {
    torch.float32: (5e-5, 1e-5),
    torch.float64: (1e-10, 1e-10),
    torch.complex64: (5e-5, 1e-5),
    torch.complex128: (1e-10, 1e-10),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float16: (2e-3, 2e-3),
}


class Calls(TorchDispatchMode):
    """Collects every functional call that isn't a view, with its arguments as they were."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not (func._schema.is_mutable or is_view(func) or is_random(func)):
            self.calls.append((func, args, kwargs))
        return result


def is_view(func: Any) -> bool:
    return (
        any(r.alias_info is not None for r in func._schema.returns)
        or func is torch.ops.aten._local_scalar_dense.default
    )


def is_random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags or name_of(func).startswith(("aten.empty", "aten.new_empty"))


def check(case: Callable[[], object], context: Any = None) -> list[str]:
    """What is wrong with the operators that `case` calls, a line each."""
    with Calls() as mode:
        case()
    context = context or importer.new_context()
    wrong: list[str] = []
    with contextlib.suppress(Exception):  # then one by one, to say which
        if together(mode.calls, context):
            return []
    for func, args, kwargs in mode.calls:
        try:
            wrong += [f"{name_of(func)}: {w}" for w in compare(func, args, kwargs, context)]
        except Exception as error:
            wrong.append(f"{name_of(func)}: {type(error).__name__}: {str(error).strip()[:300]}")
    return wrong


def together(calls: list[tuple[Any, Any, Any]], context: Any) -> bool:
    """Whether all calls, as one graph, give what is expected."""
    graph, inputs, scalars, expected = calls_graph(calls)
    if any(importer.unsupported(n, graph.specs) for n in graph.nodes):
        return False
    got = Program(graph, context)(inputs, scalars)
    for a, b in zip(got, expected, strict=True):
        assert_close(a, b)
    return True


def assert_close(a: torch.Tensor, b: torch.Tensor) -> None:
    """Complex numbers by their parts, each of which may be infinite or NaN."""
    rtol, atol = TOLERANCE.get(b.dtype, (0, 0))
    if a.is_complex() and b.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b.resolve_conj())
    torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True)


def compare(func: Any, args: Any, kwargs: Any, context: Any) -> list[str]:
    wrong = []
    for as_inputs in (False, True):
        graph, inputs, scalars, expected = call_graph(func, *args, scalars_as_inputs=as_inputs, **kwargs)
        if as_inputs and not scalars:
            break
        reason = importer.unsupported(graph.nodes[0], graph.specs)
        if reason is not None:
            return [f"unsupported: {reason}"]
        got = Program(graph, context)(inputs, scalars)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            try:
                assert_close(a, b)
            except AssertionError as error:
                shapes = [tuple(t.shape) for t in inputs]
                said = " ".join(str(error).split())[:160]
                wrong.append(f"result {i} {'with inputs' if as_inputs else ''}: {said} {shapes} {b.dtype}")
    return wrong


def isolated(fn: Callable[[], list[str]]) -> list[str]:
    """fn in a forked process, since MLIR may end it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        torch.set_num_threads(1)  # a forked process has none of its parent's threads, and would wait for them
        try:
            answer = fn()
        except BaseException as error:
            answer = [f"{type(error).__name__}: {error}"]
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    return pickle.loads(data) if data else [f"the process ended with status {status}"]


__all__ = ["LoweringError", "check", "isolated"]
