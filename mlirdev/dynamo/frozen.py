"""Parameters and buffers as constants, and what follows from them alone computed once (`options={"freeze": True}`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx

from mlirdev.lazy.storage import DEVICE_TYPE


def frozen_values(graph: fx.GraphModule, inputs: Sequence[Any]) -> dict[int, Tensor]:
    """The module's own tensors among the inputs of Dynamo's graph, by position."""
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return {
        position: value.detach()
        for position, (node, value) in enumerate(zip(places, inputs, strict=True))
        if "_dynamo_static_input_type" in (node.meta.get("tensor_dict") or {}) and _is_ours(value)
    }


def _is_ours(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == DEVICE_TYPE


def of_placeholders(graph: fx.GraphModule, frozen: Mapping[int, Tensor]) -> dict[str, Tensor]:
    """The same by placeholder of AOTAutograd's graph, which may have others or fewer. One that the graph writes
    isn't frozen."""
    found = {}
    for node in graph.graph.nodes:
        position = getattr(node.meta.get("desc"), "idx", -1)
        if node.op == "placeholder" and position in frozen and not any(map(_writes, node.users)):
            found[node.name] = frozen[position]
    return found


def _writes(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def fold(graph: fx.GraphModule, known: Mapping[str, Tensor]) -> dict[str, Any]:
    """The values of the nodes that follow from the known ones alone, by name."""
    values: dict[str, Any] = dict(known)
    for node in graph.graph.nodes:
        if _follows(node, values):
            with torch.no_grad():
                args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: values[n.name])
                values[node.name] = node.target(*args, **kwargs)
    return values


def _follows(node: fx.Node, values: Mapping[str, Any]) -> bool:
    if node.op != "call_function" or not node.all_input_nodes or _writes(node):
        return False
    if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
        return False
    return all(n.name in values for n in node.all_input_nodes)
