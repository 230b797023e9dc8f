"""The door to import/, whose name is a keyword: everyone else reaches that folder through here.

    import_graph(graph, context, observe)   Graph → linalg on tensors
    new_context()                           an MLIR context with the dialects that import needs
    to_torch_backend(), to_linalg()         the passes to the torch dialect's backend form, and from there to linalg
    tidy(module, graph)                     what run-time sizes of linalg want
    unsupported(node, specs)                why a node can't be lowered, by table, or None
    register_decomposition(op, fn)          make an operator native by nodes that replace it

The folder is loaded on first use, so that importing this module loads no MLIR.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from mlirdev.events import Observer, no_observer
from mlirdev.graph import Graph, Node, TensorSpec

if TYPE_CHECKING:
    from torch_mlir import ir


class Import(Protocol):
    """What import/ offers; its __init__.py checks itself against this."""

    def import_graph(self, graph: Graph, context: ir.Context, observe: Observer = ...) -> ir.Module: ...

    def new_context(self) -> ir.Context: ...

    def to_torch_backend(self) -> str: ...

    def to_linalg(self) -> str: ...

    def tidy(self, module: ir.Module, graph: Graph, observe: Observer = ...) -> None: ...

    def unsupported(self, node: Node, specs: tuple[TensorSpec, ...]) -> str | None: ...

    def register_decomposition(self, op: str, fn: Callable[[Any, Node], Any]) -> None: ...


@lru_cache(maxsize=1)
def _folder() -> Import:
    return cast("Import", importlib.import_module("mlirdev.import"))


def import_graph(graph: Graph, context: ir.Context, observe: Observer = no_observer) -> ir.Module:
    """The graph as one public func.func @main in linalg on tensors, and what it needs beside.

    Arguments: the graph's inputs, then its scalars (f64 for "float", i64 for "int" and "bool"), then its
    syms (i64). Raises LoweringError with the nodes that can't be lowered.
    """
    return _folder().import_graph(graph, context, observe)


def new_context() -> ir.Context:
    """A context for `import_graph`; it takes milliseconds to make, so keep one per process."""
    return _folder().new_context()


def to_torch_backend() -> str:
    """The passes that take any module in the torch dialect to the form that `to_linalg` wants, as MLIR's text."""
    return _folder().to_torch_backend()


def tidy(module: ir.Module, graph: Graph, observe: Observer = no_observer) -> None:
    """Compute the run-time sizes of a module in linalg, made of this graph, from the graph's syms; in place."""
    _folder().tidy(module, graph, observe)


def to_linalg() -> str:
    """The passes that take a module in the torch dialect, ours in it included, to linalg on tensors, as MLIR's text."""
    return _folder().to_linalg()


def unsupported(node: Node, specs: tuple[TensorSpec, ...]) -> str | None:
    """Why this node can't be lowered, or None. `specs` are those of all the graph's values."""
    return _folder().unsupported(node, specs)


def register_decomposition(op: str, fn: Callable[[Any, Node], Any]) -> None:
    """From now on `op` ("lib.name.overload") is lowered as the nodes that `fn(rewriter, node)` emits.

    `fn` returns the replacement of each result; see mlirdev/import/rewriter.py for what a rewriter offers.
    """
    _folder().register_decomposition(op, fn)
