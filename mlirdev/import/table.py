from __future__ import annotations
from collections.abc import Callable
from typing import Any
from mlirdev.graph import Node, TensorSpec
def unsupported(node: Node, specs: tuple[TensorSpec, ...]) -> str | None:
    return None
def register_decomposition(op: str, fn: Callable[[Any, Node], Any]) -> None:
    raise NotImplementedError
def routes() -> dict[str, str]:
    return {}
