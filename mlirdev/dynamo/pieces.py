"""What of a graph can't be part of a program: ops on CPU tensors, and those whose results need a value first.

Such nodes run as PyTorch calls them, each time, in their place; the nodes between them are programs of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, fx
from torch.fx.passes.split_module import split_module
from torch.utils import _pytree as pytree

from mlirdev.lazy.storage import DEVICE_TYPE


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in a node's value."""
    return [t for t in pytree.tree_leaves(value) if isinstance(t, Tensor)]


def is_constant(node: fx.Node) -> bool:
    """Is it a CPU tensor that each run would make anew just the same? It is made once then."""
    if node.op == "get_attr":
        return True
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return node.target is operator.getitem and all(map(is_constant, node.all_input_nodes))
    if node.target._schema.is_mutable or torch.Tag.nondeterministic_seeded in node.target.tags:
        return False
    returned = any(user.op == "output" for user in node.users)
    return _is_on_cpu(node) and not returned and all(map(is_constant, node.all_input_nodes))


def runs_as_called(node: fx.Node) -> bool:
    """Does it compute on the CPU?"""
    return node.op == "call_function" and _is_on_cpu(node) and not is_constant(node)


def _is_on_cpu(node: fx.Node) -> bool:
    return any(t.device.type != DEVICE_TYPE for t in tensors_of(node.meta.get("val")))


class _Piece(torch.nn.Module):
    """A program as a submodule."""

    def __init__(self, program: Callable[[list[Any]], Any]) -> None:
        super().__init__()
        self.program = program

    def forward(self, *args: Any) -> Any:
        return self.program(list(args))


def split(
    graph: fx.GraphModule, as_called: Collection[str], program: Callable[[fx.GraphModule], Callable[[list[Any]], Any]]
) -> Callable[..., Any]:
    """The graph with the nodes of these names called as they are, and `program` made of each piece between."""
    numbers = _numbers(graph, as_called)
    whole = split_module(graph, graph, lambda node: numbers.get(node.name, 0), keep_original_order=True)
    for node in whole.graph.nodes:
        part = getattr(whole, str(node.target)) if node.op == "call_module" else None
        if isinstance(part, fx.GraphModule) and {n.name for n in part.graph.nodes}.isdisjoint(as_called):
            setattr(whole, str(node.target), _Piece(program(part)))
    return whole


def _numbers(graph: fx.GraphModule, as_called: Collection[str]) -> dict[str, int]:
    """Which piece each node is in. What an op returns is taken apart where the op is: pieces pass no tuples."""
    numbers: dict[str, int] = {}
    number, before = 0, False
    for node in graph.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is operator.getitem and node.args[0].name in numbers:
            numbers[node.name] = numbers[node.args[0].name]
            continue
        called = node.name in as_called
        number += called != before
        numbers[node.name], before = number, called
    return numbers
