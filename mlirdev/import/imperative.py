"""Sequential algorithms, for own/: loops and branches over variables that are assigned, as one would write them in C.

    code = Code(e)
    a = code.array(e.tensor(x))                an Array's elements are read and written: a[i, j] = a[j, i] * 2.0
    best = code.variable(code.number(0.0, t))  a Variable holds one number: best.value = a[0, 0]
    with code.loop(0, n) as i:                 scf.for    ┐
        with code.when(a[i, i] > best.value):  scf.if     │ carry what their bodies assign
            best.value = a[i, i]                          │
    with code.repeat(lambda: best.value > 1):  scf.while  ┘

    @as_one_op                                 the emitter of an algorithm: all of it becomes one kernel

Nobody reads an array's earlier state, so bufferization lets all of them be one buffer. What is assigned in a body
and was there before it is carried; a variable that is made in a body ends with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from torch_mlir import ir

from mlirdev.graph import Node, Ref

from .dims import Shape, static
from .emitter import Emitter
from .scalars import Number, Scalar

Emit = Callable[[Emitter, Node], Sequence[ir.Value]]


def as_one_op(emit: Emit) -> Emit:
    """Let what an emitter emits stay together: without that, a batch of one would fall apart into the steps of its
    algorithm, and each of them would become a kernel."""

    @functools.wraps(emit)
    def emit_together(e: Emitter, node: Node) -> Sequence[ir.Value]:
        for spec in (*(e.spec(a) for a in node.args if isinstance(a, Ref)), *node.results):
            for dim in spec.shape:
                static(dim)  # grouping can't look into the region for sizes that are known only when run
        draft = ir.Operation.create("scf.execute_region", regions=1)
        block = _block(draft, 0, [])
        with ir.InsertionPoint(block):
            values = list(emit(e, node))
            e.builder.create("scf.yield", [], values)
        attributes = {"no_inline": ir.UnitAttr.get()}
        with ir.InsertionPoint(draft):
            whole = ir.Operation.create("scf.execute_region", results=_types(values), attributes=attributes, regions=1)
        block.append_to(whole.regions[0])
        draft.erase()
        return list(whole.results)

    return emit_together


class Variable:
    """A number that is assigned."""

    def __init__(self, code: Code, value: ir.Value) -> None:
        self.code = code
        self.now = value

    @property
    def value(self) -> Scalar:
        return Scalar(self.code.e, self.now)

    @value.setter
    def value(self, new: Number) -> None:
        self.now = self.value.lift(new)


class Array(Variable):
    """A tensor whose elements are assigned."""

    def _place(self, at: Number | tuple[Number, ...]) -> list[ir.Value]:
        indices = at if isinstance(at, tuple) else (at,)
        return [self.code.index(i).value for i in indices]

    def __getitem__(self, at: Number | tuple[Number, ...]) -> Scalar:
        return Scalar(self.code.e, self.code.e.extract(self.now, self._place(at)))

    def __setitem__(self, at: Number | tuple[Number, ...], value: Number) -> None:
        element = ir.RankedTensorType(self.now.type).element_type
        stored = value.value if isinstance(value, Scalar) else self.code.e.constant(value, element)
        self.now = self.code.e.insert(stored, self.now, self._place(at))

    def swap(self, one: tuple[Number, ...], other: tuple[Number, ...]) -> None:
        first, second = self[one], self[other]
        self[one] = second
        self[other] = first


class Code:
    """The variables that are alive, and control flow that carries them."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self._live: list[Variable] = []

    def number(self, value: Number, type_: ir.Type) -> Scalar:
        return value if isinstance(value, Scalar) else Scalar(self.e, self.e.constant(value, type_))

    def index(self, value: Number) -> Scalar:
        if isinstance(value, Scalar):
            return Scalar(self.e, self.e.to_index(value.value))
        return Scalar(self.e, self.e.constant(value, self.e.index))

    def integer(self, value: Number, type_: ir.Type) -> Scalar:
        """An index or integer as another kind of integer."""
        number = self.index(value)
        return Scalar(self.e, self.e.op("arith.index_cast", type_, number.value))

    def variable(self, value: Scalar) -> Variable:
        self._live.append(Variable(self, value.value))
        return self._live[-1]

    def array(self, tensor: ir.Value) -> Array:
        array = Array(self, tensor)
        self._live.append(array)
        return array

    def space(self, shape: Shape, element: ir.Type) -> Array:
        """Zeros. Empty tensors won't do: nothing would keep two of one shape from being one buffer."""
        return self.array(self.e.filled(shape, self.e.constant(0, element)))

    # --- control flow -------------------------------------------------------------------------------

    @contextmanager
    def loop(self, low: Number, high: Number) -> Iterator[Scalar]:
        """low, low + 1, … below high."""
        before = [v.now for v in self._live]
        bounds = [self.index(low).value, self.index(high).value, self.index(1).value]
        draft = ir.Operation.create("scf.for", results=_types(before), operands=[*bounds, *before], regions=1)
        block = _block(draft, 0, [self.e.index, *_types(before)])
        with self._body(block, list(block.arguments)[1:]) as body:
            yield Scalar(self.e, block.arguments[0])
        carried = body.close("scf.yield", [])
        _drop_arguments(block, before, carried, first=1)
        inits = [before[k] for k in carried]
        with ir.InsertionPoint(draft):
            loop = ir.Operation.create("scf.for", results=_types(inits), operands=[*bounds, *inits], regions=1)
        block.append_to(loop.regions[0])
        self._leave(draft, loop, before, carried)

    @contextmanager
    def down(self, high: Number, low: Number = 0) -> Iterator[Scalar]:
        """high - 1, high - 2, … down to low."""
        top = self.index(high)
        with self.loop(0, top - self.index(low)) as i:
            yield top - 1 - i

    @contextmanager
    def nest(self, *highs: Number) -> Iterator[list[Scalar]]:
        """Loops in each other, from 0 each."""
        with ExitStack() as stack:
            yield [stack.enter_context(self.loop(0, high)) for high in highs]

    @contextmanager
    def when(self, condition: Scalar) -> Iterator[None]:
        before = [v.now for v in self._live]
        draft = ir.Operation.create("scf.if", operands=[condition.value], regions=2)
        block = _block(draft, 0, [])
        with self._body(block, before) as body:
            yield
        carried = body.close("scf.yield", [])
        kept = [before[k] for k in carried]
        with ir.InsertionPoint(draft):
            branch = ir.Operation.create("scf.if", results=_types(kept), operands=[condition.value], regions=2)
        block.append_to(branch.regions[0])
        with ir.InsertionPoint(_block(branch, 1, [])):
            self.e.builder.create("scf.yield", [], kept)
        self._leave(draft, branch, before, carried)

    @contextmanager
    def repeat(self, condition: Callable[[], Scalar]) -> Iterator[None]:
        """As long as the condition, which assigns nothing, holds."""
        before = [v.now for v in self._live]
        draft = ir.Operation.create("scf.while", results=_types(before), operands=before, regions=2)
        head, block = (_block(draft, region, _types(before)) for region in (0, 1))
        with self._body(head, list(head.arguments)) as test:
            holds = condition().value
        with self._body(block, list(block.arguments)) as body:
            yield
        carried = body.close("scf.yield", [])
        test.close("scf.condition", [holds], carried)
        for part in (head, block):
            _drop_arguments(part, before, carried, first=0)
        inits = [before[k] for k in carried]
        with ir.InsertionPoint(draft):
            loop = ir.Operation.create("scf.while", results=_types(inits), operands=inits, regions=2)
        head.append_to(loop.regions[0])
        block.append_to(loop.regions[1])
        self._leave(draft, loop, before, carried)

    @contextmanager
    def _body(self, block: ir.Block, entering: Sequence[ir.Value]) -> Iterator[_Body]:
        """Emit into a block, at whose start the variables have these values."""
        outer = list(self._live)
        body = _Body(self.e, block, entering)
        for variable, value in zip(outer, entering, strict=True):
            variable.now = value
        with ir.InsertionPoint(block):
            yield body
        body.leaving = [variable.now for variable in outer]
        self._live = outer

    def _leave(
        self, draft: ir.Operation, final: ir.Operation, before: Sequence[ir.Value], carried: Sequence[int]
    ) -> None:
        for variable, value in zip(self._live, before, strict=True):
            variable.now = value
        for result, k in zip(final.results, carried, strict=True):
            self._live[k].now = result
        draft.erase()


class _Body:
    """A block with the variables' values at its start and end."""

    def __init__(self, e: Emitter, block: ir.Block, entering: Sequence[ir.Value]) -> None:
        self.e, self.block, self.entering = e, block, entering
        self.leaving: Sequence[ir.Value] = entering

    def close(self, terminator: str, operands: list[ir.Value], carried: list[int] | None = None) -> list[int]:
        """End the block with what its body assigned (or with these variables); says which they are."""
        pairs = list(zip(self.entering, self.leaving, strict=True))
        carried = [k for k, (old, new) in enumerate(pairs) if old != new] if carried is None else carried
        with ir.InsertionPoint(self.block):
            self.e.builder.create(terminator, [], [*operands, *(self.leaving[k] for k in carried)])
        return carried


def _types(values: Sequence[ir.Value]) -> list[ir.Type]:
    return [v.type for v in values]


def _block(operation: ir.Operation, region: int, types: list[ir.Type]) -> ir.Block:
    return ir.Block.create_at_start(operation.regions[region], types, [operation.location] * len(types))


def _drop_arguments(block: ir.Block, before: Sequence[ir.Value], carried: Sequence[int], first: int) -> None:
    """Variables that the loop doesn't assign are read where they are."""
    for k in reversed(range(len(before))):
        if k not in carried:
            block.arguments[first + k].replace_all_uses_with(before[k])
            block.erase_argument(first + k)
