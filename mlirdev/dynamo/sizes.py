"""Other sizes that a graph with symbolic ones is meant for: its first compile takes all that differ as inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from mlirdev.dynamo.arguments import View
from mlirdev.lazy.layouts import Layout, layout_of

Assignment: TypeAlias = "dict[sympy.Symbol, int]"


def other_sizes(graph: fx.GraphModule, signatures: Sequence[Hashable]) -> list[Hashable] | None:
    """Signatures as these are, of other sizes; None if the graph has no symbolic sizes, or they can't be told."""
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    known: Assignment = {}
    environment: ShapeEnv | None = None
    for value, signature in zip(values, signatures, strict=True):
        for size, number in zip(_sizes(value), _numbers(signature), strict=False):
            expression = _expression(size)
            if isinstance(expression, sympy.Symbol):
                known[expression] = number
                environment = size.node.shape_env
    others = _varied(known, environment) if environment is not None else known
    if others == known:
        return None
    made = [_signature(v, s, others) for v, s in zip(values, signatures, strict=True)]
    return None if any(m is None for m in made) else made


def _varied(known: Assignment, environment: ShapeEnv) -> Assignment:
    """As many other sizes as Dynamo's guards allow. Multiples, since what a size must be divisible by goes on to divide
    it; not all by the same factor where it can be, since sizes that are equal by chance needn't be."""
    others = dict(known)
    for place, (symbol, number) in enumerate(known.items()):
        for factor in (place + 2, 2) if number > 1 else ():
            tried = {**others, symbol: number * factor}
            if _is_allowed(tried, environment):
                others = tried
                break
    return others


def _is_allowed(sizes: Assignment, environment: ShapeEnv) -> bool:
    for symbol, number in sizes.items():
        bounds = environment.var_to_range.get(symbol)
        if bounds is not None and number not in bounds:
            return False
    return all(guard.expr.subs(sizes) != sympy.false for guard in environment.guards)


def _sizes(value: Any) -> Sequence[Any]:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


def _numbers(signature: Hashable) -> Sequence[int]:
    if isinstance(signature, (Layout, View)):
        return tuple(signature.shape)
    return (signature,) if type(signature) is int else ()


def _expression(size: Any) -> sympy.Expr | None:
    return size.node.expr if isinstance(size, torch.SymInt) else None


def _signature(value: Any, signature: Hashable, values: Assignment) -> Hashable | None:
    if type(signature) is int:
        return _evaluated(value, values)
    if not isinstance(value, torch.Tensor):
        return signature
    shape = [_evaluated(size, values) for size in value.shape]
    if shape == [int(size) for size in _numbers(signature)]:
        return signature
    if None in shape or not isinstance(signature, Layout) or signature.stride is not None:
        return None
    return layout_of([size for size in shape if size is not None], signature.dtype)


def _evaluated(size: Any, values: Assignment) -> int | None:
    expression = _expression(size)
    if expression is None:
        return int(size)
    found = expression.subs(values)
    return int(found) if found.is_Integer else None
