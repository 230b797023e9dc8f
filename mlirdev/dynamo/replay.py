"""A captured graph's nodes called once, on tensors of a private recording: what they record is the program.

Each result is kept as where it comes from: an argument, a number of the recording's values, or a literal.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, fx
from torch.utils import _pytree as pytree

from mlirdev.dynamo.arguments import HostNumber, HostTensor, View, view_of
from mlirdev.errors import UnsupportedError
from mlirdev.events import SourceLine
from mlirdev.lazy.graphs import Cut, cut
from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.operands import scalar_tensor
from mlirdev.lazy.private import Draw, NeedsValueError, Private, privately
from mlirdev.lazy.storage import cell_of, new_tensor, read, whole_cell
from mlirdev.lazy.trace import Cell, enter
from mlirdev.runtime import Buffer


class NeedsPieceError(UnsupportedError):
    """The node of this name can't be part of a program."""

    def __init__(self, node: str, reason: Exception) -> None:
        super().__init__(f"{node}: {reason}")
        self.node = node


@dataclass(frozen=True)
class FromArgument:
    """A tensor on an argument's storage: itself, or a view."""

    argument: int
    view: View | None


@dataclass(frozen=True)
class Made:
    """A tensor on storage number `storage` of those made: whole, or a view."""

    storage: int
    view: View | None


@dataclass(frozen=True)
class Literal:
    value: Any


Result: TypeAlias = "FromArgument | Made | Literal"


@dataclass(frozen=True)
class Replayed:
    """A program for one kind of arguments. Values are numbered as in the trace: those recorded from 0 on, inputs
    -1, -2, …"""

    cut: Cut
    outputs: tuple[int, ...]  # the values that the cut computes
    inputs: tuple[int | Buffer, ...]  # of the trace: an argument's number, or memory that every run reads
    scalars: tuple[float | int | bool, ...]  # of the trace
    numbers: Mapping[int, int]  # scalars that are arguments: place among the scalars → the argument's number
    draws: tuple[Draw, ...]
    storages: tuple[tuple[Layout, int], ...]  # made: layout and value
    results: tuple[Result, ...]
    single: bool  # the graph returns one value, not several
    written: tuple[tuple[int, Layout, int], ...]  # arguments' storages: the argument, layout and value afterwards
    lines: Lines


class Lines:
    """The user's lines of a recording's nodes, from the graph's stack traces."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._stacks: list[str | None] = []

    def add(self, first: int, stack: str | None) -> None:
        """Nodes from number `first` on come from there."""
        self._firsts.append(first)
        self._stacks.append(stack)

    def where(self, node: int) -> SourceLine | None:
        at = bisect.bisect_right(self._firsts, node) - 1
        return _innermost(self._stacks[at]) if at >= 0 else None


_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


def _innermost(stack: str | None) -> SourceLine | None:
    frames = _FRAME.findall(stack or "")
    if not frames:
        return None
    file, line, function = frames[-1]
    return SourceLine(file, int(line), function)


def replay(graph: fx.GraphModule, signatures: Sequence[Hashable], known: Mapping[str, Any]) -> Replayed:
    """Record the graph for arguments like these; `known` are the values of nodes that needn't be computed.

    Raises NeedsPieceError for a node that needs a value, or hasn't its results on the device.
    """
    with privately() as private, torch.no_grad():
        replaying = _Replaying(graph, private, signatures, known)
        for node in graph.graph.nodes:
            replaying.run(node)
        return replaying.replayed()


class _Replaying:
    """The state of `replay`."""

    def __init__(
        self, graph: fx.GraphModule, private: Private, signatures: Sequence[Hashable], known: Mapping[str, Any]
    ) -> None:
        self.graph = graph
        self.private = private
        self.signatures = signatures
        self.values: dict[str, Any] = {}
        self.known = known
        self.arguments: list[Any] = []
        self.cells: dict[int, tuple[Cell, int]] = {}  # arguments' storages, and their values before
        self.inputs: dict[int, int] = {}  # the trace's inputs that are arguments
        self.numbers: dict[int, int] = {}
        self.lines = Lines()
        self.returned: Any = None

    def run(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            made = self._argument(len(self.arguments), self.signatures[len(self.arguments)])
            self.arguments.append(made)
            self.values[node.name] = self.known.get(node.name, made)
        elif node.name in self.known:
            self.values[node.name] = self.known[node.name]
        elif node.op == "get_attr":
            self.values[node.name] = _attribute(self.graph, str(node.target))
        elif node.op == "output":
            self.returned = fx.map_arg(node.args[0], lambda n: self.values[n.name])
        else:
            self.lines.add(self.private.trace.nodes, node.stack_trace)
            self.values[node.name] = self._call(node)

    def _call(self, node: fx.Node) -> Any:
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: self.values[n.name])
        try:
            return node.target(*args, **kwargs)  # type: ignore[operator]  # a function, in these graphs
        except NeedsValueError as error:
            raise NeedsPieceError(node.name, error) from None

    def _argument(self, number: int, signature: Hashable) -> Any:
        """What stands for an argument."""
        if isinstance(signature, HostNumber):
            self.numbers[len(self.private.trace.scalars)] = number
            return new_tensor(scalar_tensor(torch.zeros((), dtype=signature.dtype)))
        if isinstance(signature, HostTensor):
            return self._input(number, signature.layout)
        if isinstance(signature, Layout):
            return self._input(number, signature)
        if isinstance(signature, View):
            return signature.of(self._input(number, signature.layout))
        return signature[1] if isinstance(signature, tuple) else signature

    def _input(self, number: int, layout: Layout) -> Tensor:
        cell = self.private.input(layout)
        self.inputs[-1 - cell.number] = number
        self.cells[number] = cell, cell.number
        return new_tensor(cell)

    def replayed(self) -> Replayed:
        trace = self.private.trace
        single = not isinstance(self.returned, (tuple, list))
        results = self._results([self.returned] if single else self.returned)
        storages = tuple((cell.layout, cell.number) for cell in self._made)
        written = tuple((number, cell.layout, cell.number) for cell, number in self._written().items())
        computed = sorted({cell.number for cell in (*self._made, *self._written()) if cell.number >= 0})
        part = cut(trace, tuple(computed))
        inputs = tuple(self.inputs.get(i, buffer) for i, (buffer, _) in enumerate(trace.inputs))
        return Replayed(
            part, tuple(computed), inputs, tuple(trace.scalars), self.numbers, tuple(self.private.draws), storages,
            results, single, written, self.lines,
        )  # fmt: skip

    def _written(self) -> dict[Cell, int]:
        """The arguments' storages that have another value than before, and whose they are."""
        return {cell: number for number, (cell, before) in self.cells.items() if cell.number != before}

    def _results(self, values: Sequence[Any]) -> tuple[Result, ...]:
        self._made: list[Cell] = []
        owners = {id(cell): number for number, (cell, _) in self.cells.items()}
        values = [self._by_itself(value, values, owners) for value in values]
        return tuple(self._result(value, owners) for value in values)

    def _by_itself(self, value: Any, values: Sequence[Any], owners: Mapping[int, int]) -> Any:
        """A result, as a whole tensor if it is a part or another shape of what nobody else gets to see: whoever takes
        it, the backward program for one, finds it simpler."""
        if not isinstance(value, Tensor) or value.is_conj() or value.is_neg() or not value.is_contiguous():
            return value
        cell = cell_of(value)
        shared = sum(isinstance(other, Tensor) and cell_of(other) is cell for other in values) > 1
        if shared or id(cell) in owners or whole_cell(value) is cell:
            return value
        return new_tensor(read(value))

    def _result(self, value: Any, owners: Mapping[int, int]) -> Result:
        if not isinstance(value, Tensor):
            assert not any(isinstance(v, Tensor) for v in pytree.tree_leaves(value)), "AOTAutograd returns flat results"
            return Literal(value)
        for number, argument in enumerate(self.arguments):
            if value is argument:
                return FromArgument(number, None)
        cell = self._own_cell(value)
        view = None if whole_cell(value) is cell else view_of(value)
        if id(cell) in owners:
            return FromArgument(owners[id(cell)], view)
        if not any(cell is made for made in self._made):
            self._made.append(cell)
        return Made(next(i for i, made in enumerate(self._made) if made is cell), view)

    def _own_cell(self, value: Tensor) -> Cell:
        """The cell of a result, as a value of this recording."""
        cell = cell_of(value)
        if cell.trace is not self.private.trace:  # a constant
            cell = cell.snapshot()
            cell.number = enter(self.private.trace, cell)
        return cell


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module
