"""What of a graph can't be part of a program: ops on CPU tensors, and those whose results need a value first.

Such nodes run as PyTorch calls them, each time, in their place; the nodes between them are programs of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, fx
from torch._prims import rng_prims
from torch.fx.passes.split_module import split_module
from torch.utils import _pytree as pytree

from mlirdev.lazy.rng import default_generator
from mlirdev.lazy.storage import DEVICE_TYPE


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in a node's value."""
    return [t for t in pytree.tree_leaves(value) if isinstance(t, Tensor)]


def run_as_called(graph: fx.Graph) -> list[str]:
    """The names of the nodes that compute on the CPU, or look at a generator's state."""
    constants: set[fx.Node] = set()
    found = []
    for node in graph.nodes:
        if _is_constant(node, constants):
            constants.add(node)
        elif node.op == "call_function" and (node.target in _OF_CHECKPOINTS.values() or _is_on_cpu(node)):
            found.append(node.name)
    return found


def _is_constant(node: fx.Node, constants: Collection[fx.Node]) -> bool:
    """Is it a CPU tensor that each run would make anew just the same? It is made once then."""
    if node.op == "get_attr":
        return True
    if node.op != "call_function" or any(user.op == "output" for user in node.users):
        return False
    if not all(n in constants for n in node.all_input_nodes) or not _is_on_cpu(node):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return node.target is operator.getitem
    return not node.target._schema.is_mutable and torch.Tag.nondeterministic_seeded not in node.target.tags


def _run_and_save(op: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
    """A random op whose numbers will be drawn once more, and the generator's state before it."""
    if not _is_ours((args, kwargs)):
        saved: tuple[Tensor, Any] = rng_prims.run_and_save_rng_state(op, *args, **kwargs)
        return saved
    return default_generator.get_state(), op(*args, **kwargs)


def _run_with(state: Tensor, op: Any, *args: Any, **kwargs: Any) -> Any:
    """The random op once more, from that state."""
    if not _is_ours((args, kwargs)):
        return rng_prims.run_with_rng_state(state, op, *args, **kwargs)
    now = default_generator.get_state()
    default_generator.set_state(state)
    try:
        return op(*args, **kwargs)
    finally:
        default_generator.set_state(now)


def _is_ours(value: Any) -> bool:
    leaves = pytree.tree_leaves(value)
    devices = [x.device for x in tensors_of(value)] + [x for x in leaves if isinstance(x, torch.device)]
    return any(device.type == DEVICE_TYPE for device in devices)


# Random ops in checkpointed regions: PyTorch's own know no device but theirs.
_OF_CHECKPOINTS = {rng_prims.run_and_save_rng_state: _run_and_save, rng_prims.run_with_rng_state: _run_with}


def take_over_checkpoints(graph: fx.Graph) -> None:
    """Have the random ops of checkpointed regions draw from the device's generator."""
    for node in graph.nodes:
        if node.op == "call_function":
            node.target = _OF_CHECKPOINTS.get(node.target, node.target)


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
