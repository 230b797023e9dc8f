"""The Graph: what was recorded, as an immutable, functional value.

    inputs (tensors) ─┐
    scalars ──────────┼─► nodes, in order ─► outputs
    syms (sizes) ─────┘

No torch object and no source line is in here, so a Graph is hashable, pickles cheaply and is the same
for the same computation wherever it was recorded. There are no views and no mutation: `lazy/` has
resolved both. Every value is a dense, row-major tensor.

Values are numbered: the inputs first, then each node's results in order. A size (a shape's dim, a
view's or expand's size, a slice's bound) stands in place as an `int`, or where the graph was generalised as a
`Sym`, or arithmetic on Syms (sizes.py); `Graph.ints` lists them flat, in one fixed order, and `Graph.skeleton`
is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError
from mlirdev.sizes import Dim as Dim
from mlirdev.sizes import Sym as Sym
from mlirdev.sizes import evaluate


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and element type of a dense, row-major tensor."""

    shape: tuple[Dim, ...]
    dtype: DType

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.dtype.value])

    @property
    def is_static(self) -> bool:
        return all(isinstance(d, int) for d in self.shape)


@dataclass(frozen=True, slots=True)
class Ref:
    """An operand: the value of this number."""

    value: int

    def __str__(self) -> str:
        return f"%{self.value}"


@dataclass(frozen=True, slots=True)
class ScalarRef:
    """An operand: number `index` of the graph's scalar inputs (its value isn't part of the graph)."""

    index: int

    def __str__(self) -> str:
        return f"${self.index}"


@dataclass(frozen=True, slots=True)
class Size:
    """A size argument: one entry of a view's or expand's sizes, a slice's bound, a select's index."""

    value: Dim

    def __str__(self) -> str:
        return f"#{self.value}" if isinstance(self.value, int) else str(self.value)


# What an operator's argument may be; a tuple is an operator's list argument.
Arg: TypeAlias = "bool | int | float | complex | str | DType | Ref | ScalarRef | Size | tuple[Arg, ...] | None"

# The Python type of a scalar input, which fixes how it is packed: float as f64, int and bool as i64.
ScalarKind: TypeAlias = str
SCALAR_KINDS: tuple[ScalarKind, ...] = ("float", "int", "bool")


@dataclass(frozen=True, slots=True)
class Node:
    """One operator call.

    `op` is the overload's full name ("aten.add.Tensor", "mlirdev.philox"); `args` follow its schema, every
    argument in order with defaults filled in (device, layout and pin_memory are None); `results`
    are the specs of what it returns, in order.
    """

    op: str
    args: tuple[Arg, ...]
    results: tuple[TensorSpec, ...]

    def operands(self) -> Iterator[int]:
        """The numbers of the values that it reads, in order, repeats included."""
        for arg in walk_args(self.args):
            if isinstance(arg, Ref):
                yield arg.value

    def map_sizes(self, argument: Callable[[Dim], Dim], result: Callable[[Dim], Dim]) -> Node:
        """The node with these functions applied to the sizes of its arguments and results, in this order."""

        def arg(a: Arg) -> Arg:
            if isinstance(a, Size):
                return Size(argument(a.value))
            return tuple(map(arg, a)) if isinstance(a, tuple) else a

        return Node(self.op, tuple(map(arg, self.args)), tuple(_with_sizes(s, result) for s in self.results))


@dataclass(frozen=True)
class Graph:
    """A recorded computation. See the module's docstring."""

    inputs: tuple[TensorSpec, ...]
    scalars: tuple[ScalarKind, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    syms: int = field(default=0)

    @cached_property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The spec of every value, by number."""
        specs = list(self.inputs)
        for node in self.nodes:
            specs.extend(node.results)
        return tuple(specs)

    @cached_property
    def first_result(self) -> tuple[int, ...]:
        """For every node, the number of its first result."""
        number, firsts = len(self.inputs), []
        for node in self.nodes:
            firsts.append(number)
            number += len(node.results)
        return tuple(firsts)

    @property
    def ints(self) -> tuple[Dim, ...]:
        """Every size in the graph, in the order of `map_sizes`."""
        return self._read[1]

    @property
    def skeleton(self) -> tuple[object, ...]:
        """The graph but its free sizes: equal for graphs that differ in those alone. A dim of 0 or 1, an index from the
        back and "to the end" have a meaning of their own and stay; places in a tensor may be any."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[tuple[object, ...], tuple[Dim, ...]]:
        """Skeleton and sizes, read in one go, flat: each new length of a cache that grows is looked up by both."""
        words: list[object] = [self.scalars, self.outputs, len(self.inputs)]
        sizes: list[Dim] = []
        for spec in self.inputs:
            _read_shape(spec, words, sizes)
        for node in self.nodes:
            words.append(node.op)
            _read_args(node.args, 0 if node.op in _PLACES else 2, words, sizes)
            for spec in node.results:
                _read_shape(spec, words, sizes)
        return tuple(words), tuple(sizes)

    def map_sizes(self, fn: Callable[[Dim], Dim]) -> Graph:
        """A graph with `fn` applied to every size: the inputs' shapes, then per node its arguments and results."""
        inputs = tuple(_with_sizes(s, fn) for s in self.inputs)
        return replace(self, inputs=inputs, nodes=tuple(n.map_sizes(fn, fn) for n in self.nodes))

    def at(self, syms: tuple[int, ...]) -> Graph:
        """The graph whose syms have these values."""
        return replace(self.map_sizes(lambda size: evaluate(size, syms)), syms=0) if self.syms else self

    def verify(self) -> None:
        """Raise InternalError where an operand, output, scalar or sym does not exist yet."""
        known = len(self.inputs)
        for position, node in enumerate(self.nodes):
            for arg in walk_args(node.args):
                if isinstance(arg, Ref) and not 0 <= arg.value < known:
                    raise InternalError(f"node n{position} ({node.op}) reads %{arg.value} before it is defined")
                if isinstance(arg, ScalarRef) and not 0 <= arg.index < len(self.scalars):
                    raise InternalError(f"node n{position} ({node.op}) reads scalar {arg.index} of {len(self.scalars)}")
            known += len(node.results)
        for output in self.outputs:
            if not 0 <= output < known:
                raise InternalError(f"output %{output} isn't defined ({known} values)")
        for size in self.ints:
            try:
                evaluate(size, (1,) * self.syms)
            except IndexError:
                raise InternalError(f"size {size} of {self.syms} syms") from None

    def node_text(self, position: int) -> str:
        """A node as the printed graph shows it."""
        node, first = self.nodes[position], self.first_result[position]
        results = ", ".join(f"%{first + i}: {spec}" for i, spec in enumerate(node.results))
        return f"{results} = {node.op}({', '.join(map(format_arg, node.args))})"

    def __str__(self) -> str:
        lines = [f"%{i}: {spec} = input" for i, spec in enumerate(self.inputs)]
        lines += [f"${i}: {kind} = scalar" for i, kind in enumerate(self.scalars)]
        lines += [f"s{i} = size" for i in range(self.syms)]
        lines += [f"{self.node_text(position)}  // n{position}" for position in range(len(self.nodes))]
        lines.append("return " + ", ".join(f"%{o}" for o in self.outputs))
        return "\n".join(lines)


# Operators whose size arguments are places in a tensor.
_PLACES = frozenset({"aten.select.int", "aten.slice.Tensor"})
_TO_THE_END = 1 << 62


def _read_shape(spec: TensorSpec, words: list[object], sizes: list[Dim]) -> None:
    words += (spec.dtype, len(spec.shape))
    sizes += spec.shape
    for size in spec.shape:
        words.append(size if isinstance(size, int) and not 2 <= size < _TO_THE_END else ...)


def _read_args(args: tuple[Arg, ...], free_from: int, words: list[object], sizes: list[Dim]) -> None:
    words.append(len(args))
    for arg in args:
        if isinstance(arg, Size):
            size = arg.value
            sizes.append(size)
            words.append(size if isinstance(size, int) and not free_from <= size < _TO_THE_END else ...)
        elif isinstance(arg, tuple):
            _read_args(arg, free_from, words, sizes)
        elif isinstance(arg, Ref):
            words += ("%", arg.value)
        else:
            words.append(arg)


def _with_sizes(spec: TensorSpec, fn: Callable[[Dim], Dim]) -> TensorSpec:
    return TensorSpec(tuple(map(fn, spec.shape)), spec.dtype)


def walk_args(args: tuple[Arg, ...]) -> Iterator[Arg]:
    """Every argument, lists opened, in order."""
    for arg in args:
        if isinstance(arg, tuple):
            yield from walk_args(arg)
        else:
            yield arg


def format_arg(arg: Arg) -> str:
    """An argument as the printed graph shows it."""
    if isinstance(arg, tuple):
        return "[" + ", ".join(map(format_arg, arg)) + "]"
    return repr(arg) if isinstance(arg, str) and not isinstance(arg, DType) else str(arg)
