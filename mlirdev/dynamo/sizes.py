"""Other sizes that a graph with symbolic ones is meant for: its first compile takes all that differ as inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import sympy
import torch
from torch import fx

from mlirdev.lazy.layouts import Layout, layout_of


def other_sizes(graph: fx.GraphModule, signatures: Sequence[Hashable]) -> list[Hashable] | None:
    """Signatures as these are, of other sizes; None if the graph has no symbolic sizes, or they can't be told."""
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    known: dict[sympy.Symbol, int] = {}
    for value, signature in zip(values, signatures, strict=True):
        for size, number in zip(_sizes(value), _numbers(signature), strict=False):
            expression = _expression(size)
            if isinstance(expression, sympy.Symbol):
                known[expression] = number
    # Multiples, since what a size must be divisible by goes on to divide it; not all by the same factor, since sizes
    # that are equal by chance needn't be.
    others = {symbol: number * (2 + k) for k, (symbol, number) in enumerate(known.items()) if number > 1}
    if not others:
        return None
    values_then = {**known, **others}
    made = [_signature(v, s, values_then) for v, s in zip(values, signatures, strict=True)]
    return None if any(m is None for m in made) else made


def _sizes(value: Any) -> Sequence[Any]:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


def _numbers(signature: Hashable) -> Sequence[int]:
    if isinstance(signature, Layout):
        return tuple(signature.shape)
    return (signature,) if type(signature) is int else ()


def _expression(size: Any) -> sympy.Expr | None:
    return size.node.expr if isinstance(size, torch.SymInt) else None


def _signature(value: Any, signature: Hashable, values: dict[sympy.Symbol, int]) -> Hashable | None:
    if type(signature) is int:
        return _evaluated(value, values)
    if not isinstance(signature, Layout) or not isinstance(value, torch.Tensor):
        return signature
    shape = [_evaluated(size, values) for size in value.shape]
    if shape == list(signature.shape):
        return signature
    if None in shape or signature.stride is not None:
        return None
    return layout_of([size for size in shape if size is not None], signature.dtype)


def _evaluated(size: Any, values: dict[sympy.Symbol, int]) -> int | None:
    expression = _expression(size)
    if expression is None:
        return int(size)
    found = expression.subs(values)
    return int(found) if found.is_Integer else None
