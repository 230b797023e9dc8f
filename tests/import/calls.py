"""Which operator calls a piece of PyTorch code makes, and whether ours give the same."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
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


class Forked:
    """A forked process that does `do(number)`, since MLIR may end it; the next call then gets another one."""

    def __init__(self, do: Callable[[int], list[str]]) -> None:
        self._do = do
        self._pid = 0
        self._connection: Connection[int, list[str]] | None = None

    def __call__(self, number: int) -> list[str]:
        connection = self._connection or self._start()
        connection.send(number)
        try:
            return connection.recv()
        except EOFError:
            return [f"the process ended with status {self.close()}"]

    def close(self) -> int:
        """Let the process end; its status."""
        if self._connection is None:
            return 0
        self._connection.close()
        self._connection = None
        return os.waitpid(self._pid, 0)[1]

    def _start(self) -> Connection[int, list[str]]:
        self._connection, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._connection.close()
                torch.set_num_threads(1)  # a forked process has none of its parent's threads, and would wait for them
                self._serve(theirs)
            finally:  # whatever happens: two processes would tell pytest-xdist of one worker's tests
                os._exit(0)
        theirs.close()
        return self._connection

    def _serve(self, connection: Connection[list[str], int]) -> None:
        with contextlib.suppress(EOFError):
            while True:
                number = connection.recv()
                torch.manual_seed(0)
                try:
                    connection.send(self._do(number))
                except BaseException as error:
                    connection.send([f"{type(error).__name__}: {error}"])


__all__ = ["Forked", "LoweringError", "check"]
