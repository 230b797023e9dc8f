"""Operator calls and torch.fx graphs as our Graph, for tests: what recording does, without the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, Size, Sym, TensorSpec

from .execute import OURS

# Arguments that are sizes, as recording marks them.
SIZES = {
    "size",
    "sizes",
    "start",
    "end",
    "step",
    "index",
    "split_sizes",
    "repeats",
    "length",
    "output_size",
    "input_size",
    "self_size",
    "pad",
    "normalized_shape",
    "shifts",
}
STRUCTURAL = {"dim", "correction", "ord", "exponent", "alpha", "beta"}
NONE = {"device", "layout", "pin_memory", "generator"}


def spec_of(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tuple(int(s) for s in tensor.shape), OURS[tensor.dtype])


def name_of(overload: torch._ops.OpOverload) -> str:
    return f"{overload.namespace}.{overload._schema.name.split('::')[1]}.{overload._overloadname}"


class Capture:
    """Collects nodes. `scalars_as_inputs` makes value scalars graph inputs, as lazy recording does."""

    def __init__(self, scalars_as_inputs: bool = False) -> None:
        self.inputs: list[torch.Tensor] = []
        self.numbers: dict[Any, int] = {}
        self.scalar_values: list[float] = []
        self.scalar_kinds: list[str] = []
        self.nodes: list[Node] = []
        self.scalars_as_inputs = scalars_as_inputs

    def call(
        self,
        overload: torch._ops.OpOverload,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        key: Callable[[Any], Any],
        results: Sequence[torch.Tensor],
    ) -> None:
        converted = []
        for i, argument in enumerate(overload._schema.arguments):
            default = argument.default_value if argument.has_default_value() else None
            value = kwargs.get(argument.name, args[i] if i < len(args) and not argument.kwarg_only else default)
            if argument.name in NONE:
                value = None
            converted.append(self.arg(value, argument.name, str(argument.type), key))
        self.nodes.append(Node(name_of(overload), tuple(converted), tuple(spec_of(r) for r in results)))

    def arg(self, value: Any, name: str, kind: str, key: Callable[[Any], Any]) -> Arg:
        if isinstance(value, torch.Tensor) or hasattr(value, "meta"):
            return Ref(key(value))
        if isinstance(value, (list, tuple)):
            return tuple(self.arg(v, name, kind, key) for v in value)
        if value is None:
            return None
        if isinstance(value, torch.dtype):
            return OURS[value]
        if isinstance(value, (torch.memory_format, torch.device, torch.layout)):
            return None
        if (
            kind in ("number", "Scalar", "Optional[number]", "Tensor")
            and name not in STRUCTURAL
            and self.scalars_as_inputs
            and not isinstance(value, complex)
        ):
            self.scalar_values.append(value)
            self.scalar_kinds.append(type(value).__name__)
            return ScalarRef(len(self.scalar_values) - 1)
        if name in SIZES and isinstance(value, int) and not isinstance(value, bool):
            return Size(value)
        if "float" in kind and isinstance(value, int):
            return float(value)
        if isinstance(value, (bool, int, float, complex, str)):
            return value
        raise TypeError(f"argument {name}: {value!r}")


def call_graph(overload: torch._ops.OpOverload, *args: Any, scalars_as_inputs: bool = False, **kwargs: Any):
    """(graph, inputs, scalars, expected) of one operator call; all results are outputs."""
    capture = Capture(scalars_as_inputs)
    inputs: list[torch.Tensor] = []

    def key(tensor: torch.Tensor) -> int:
        inputs.append(tensor.resolve_conj().resolve_neg().contiguous())
        return len(inputs) - 1

    expected = overload(*args, **kwargs)
    expected = [e for e in (expected if isinstance(expected, (tuple, list)) else [expected]) if e is not None]
    capture.call(overload, args, kwargs, key, expected)
    n = len(inputs)
    graph = Graph(
        tuple(map(spec_of, inputs)),
        tuple(capture.scalar_kinds),
        tuple(capture.nodes),
        tuple(range(n, n + len(expected))),
    )
    graph.verify()
    return graph, inputs, capture.scalar_values, expected


def calls_graph(calls: Sequence[tuple[Any, Sequence[Any], dict[str, Any]]]):
    """(graph, inputs, scalars, expected) of several calls side by side; odd ones have their scalars as inputs."""
    capture, inputs, results = Capture(), [], []

    def key(tensor: torch.Tensor) -> int:
        inputs.append(tensor.resolve_conj().resolve_neg().contiguous())
        return len(inputs) - 1

    for i, (overload, args, kwargs) in enumerate(calls):
        capture.scalars_as_inputs = i % 2 == 1
        expected = overload(*args, **kwargs)
        expected = [e for e in (expected if isinstance(expected, (tuple, list)) else [expected]) if e is not None]
        capture.call(overload, args, kwargs, key, expected)
        results += expected
    n = len(inputs)
    specs = tuple(map(spec_of, inputs))
    graph = Graph(specs, tuple(capture.scalar_kinds), tuple(capture.nodes), tuple(range(n, n + len(results))))
    graph.verify()
    return graph, inputs, capture.scalar_values, results


def with_symbol(graph: Graph, size: int) -> Graph:
    """The graph with every size equal to `size` made the sym s0."""
    from dataclasses import replace

    return replace(graph.map_sizes(lambda d: Sym(0) if d == size else d), syms=1)


def fx_graph(gm: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], scalars_as_inputs: bool = False):
    """(graph, inputs, scalars) of a make_fx graph; getitem is resolved, detach and alias are dropped."""
    capture = Capture(scalars_as_inputs)
    numbers: dict[Any, int] = {}
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    constants = [n for n in gm.graph.nodes if n.op == "get_attr"]
    tensors = [*inputs, *(getattr(gm, n.target) for n in constants)]
    for i, node in enumerate([*placeholders, *constants]):
        numbers[node] = i
    count = len(tensors)
    outputs: list[int] = []
    for node in gm.graph.nodes:
        if node.op == "output":
            flat = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            outputs = [numbers[o] for o in flat if o is not None]
        if node.op != "call_function":
            continue
        if getattr(node.target, "__name__", "") == "getitem":
            numbers[node] = numbers[node.args[0]][node.args[1]]
            continue
        if node.target in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            numbers[node] = numbers[node.args[0]]
            continue
        results = node.meta["val"]
        many = isinstance(results, (tuple, list))
        kept = [r for r in (results if many else [results]) if r is not None]
        capture.call(node.target, node.args, node.kwargs, numbers.__getitem__, kept)
        positions = iter(range(count, count + len(kept)))
        numbers[node] = [next(positions) if r is not None else None for r in results] if many else count
        count += len(kept)
    graph = Graph(tuple(map(spec_of, tensors)), tuple(capture.scalar_kinds), tuple(capture.nodes), tuple(outputs))
    graph.verify()
    return graph, [t.contiguous() for t in tensors], capture.scalar_values
