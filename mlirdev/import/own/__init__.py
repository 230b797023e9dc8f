"""Operators that are emitted as linalg by ourselves, by name: each takes the Emitter and the node, and
returns its results as builtin tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter

Own = Callable[[Emitter, Node], Sequence[ir.Value]]
OWN: dict[str, Own] = {}
