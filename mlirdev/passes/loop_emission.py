"""Write the loops that a loop tree plans.

A reduction whose result doesn't move inside a loop is carried by it as a value, so LLVM sees a plain reduction.
A value that was just stored is used again without a load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from torch_mlir import ir

from mlirdev.passes.build import Index, alloc, for_loop
from mlirdev.passes.loop_tree import Loop, Tree
from mlirdev.passes.nests import Access, Nest
from mlirdev.passes.ops import emit, index_constant
from mlirdev.passes.partial_sums import MOST, Pieces, combine, combiner, cut, identity

# Sums and products may be reordered, as PyTorch's own vectorised loops do; nothing may assume away NaN or infinity.
_REORDERED = frozenset({"arith.addf", "arith.mulf"})
_FASTMATH = "#arith.fastmath<reassoc,contract>"
# The larger of 0.0 and -0.0 may be either; telling them apart costs twice the instructions. NaN is kept.
EXTREMA = frozenset({"arith.maximumf", "arith.minimumf"})
EITHER_ZERO = "#arith.fastmath<nsz>"


Key: TypeAlias = tuple[Nest, int]  # a nest and the number of one of its outputs


class LoopEmitter:
    """Emits at the current insertion point. `stand_ins` maps a temporary to a smaller one and the dims it lacks."""

    def __init__(self, stand_ins: Mapping[Any, tuple[Any, tuple[int, ...]]] | None = None) -> None:
        self._stand_ins = stand_ins or {}
        self._ivs: defaultdict[Nest, dict[int, Any]] = defaultdict(dict)
        self._carried: dict[Key, Any] = {}
        self._known: dict[tuple[Any, ...], Any] = {}
        # While a piece is written: the part that stands in for a summed row, and the number of the piece in it.
        self._in_pieces: dict[Any, tuple[Any, Any]] = {}

    def emit(self, tree: Tree) -> None:
        if isinstance(tree, Nest):
            with tree.op.location:
                self._emit_body(tree)
        else:
            with tree.nests[0].op.location:
                self._emit_loop(tree)

    # --- loops --------------------------------------------------------------------------------------

    def _emit_loop(self, loop: Loop) -> None:
        carried = [key for nest in loop.nests for key in self._carried_by(nest, loop.level)]
        entering = [k for k in carried if k not in self._carried]
        for key in entering:
            self._carried[key] = self._load(key[0], key[0].outputs[key[1]])
        outside = dict(self._known)
        sums = entering or self._summed_rows(loop)
        pieces = cut(loop, sums) if _is_in_function() else None
        if pieces is None:
            self._emit_range(loop, carried, 0, loop.extent, parallel=loop.is_parallel)
        elif entering:
            self._emit_pieces(loop, carried, pieces)
        else:
            self._emit_pieces_of_rows(loop, sums, pieces)
        self._known = outside
        self._forget(loop.nests)
        for key in entering:
            nest, output = key
            self._store(nest, nest.outputs[output], self._carried.pop(key))

    def _emit_range(self, loop: Loop, carried: list[Key], first: Index, last: Index, *, parallel: bool = False) -> None:
        """The iterations from the first until before the last."""
        self._forget(loop.nests)
        with for_loop(first, last, carried=[self._carried[key] for key in carried], parallel=parallel) as written:
            self._carried.update(zip(carried, written.carried, strict=True))
            for nest in loop.nests:
                self._ivs[nest][nest.order[loop.level]] = written.iv
            for child in loop.children:
                self.emit(child)
            written.yields = [self._carried[key] for key in carried]
        self._carried.update(zip(carried, written.results, strict=True))

    def _emit_pieces(self, loop: Loop, sums: list[Key], pieces: Pieces) -> None:
        """See partial_sums.py."""
        totals = [self._carried[key] for key in sums]
        combiners = [combiner(*key) for key in sums]
        parts = [alloc([MOST], total.type) for total in totals]
        with for_loop(0, pieces.count, parallel=True) as piece:
            self._carried.update((key, identity(op)) for key, op in zip(sums, combiners, strict=True))
            self._emit_range(loop, sums, *pieces.span(piece.iv))
            for key, part in zip(sums, parts, strict=True):
                store(self._carried[key], part, [piece.iv])
        with for_loop(0, pieces.count, carried=totals) as piece:
            found = [load(part, [piece.iv]) for part in parts]
            piece.yields = [combine(*both) for both in zip(combiners, piece.carried, found, strict=True)]
        self._carried.update(zip(sums, piece.results, strict=True))

    def _summed_rows(self, loop: Loop) -> list[Key]:
        """The outputs that a loop adds to in every iteration."""
        summing = [nest for nest in loop.nests if not nest.parallel[nest.order[loop.level]]]
        outputs = [(nest, i) for nest in summing for i in range(len(nest.outputs))]
        return [] if any(nest.outputs[i].memref in self._stand_ins for nest, i in outputs) else outputs

    def _emit_pieces_of_rows(self, loop: Loop, sums: list[Key], pieces: Pieces) -> None:
        """The same where a sum is a row: each piece has one of its own."""
        rows = [nest.outputs[i].memref for nest, i in sums]
        combiners = [combiner(*key) for key in sums]
        parts = [alloc([MOST, *row.type.shape], row.type.element_type) for row in rows]
        with for_loop(0, pieces.count, parallel=True) as piece:
            for op, row, part in zip(combiners, rows, parts, strict=True):
                with _loops(row.type.shape) as place:
                    store(identity(op), part, [piece.iv, *place])
                self._in_pieces[row] = (part, piece.iv)
            self._emit_range(loop, [], *pieces.span(piece.iv))
            self._in_pieces.clear()
        for op, row, part in zip(combiners, rows, parts, strict=True):
            with for_loop(0, pieces.count) as piece, _loops(row.type.shape, parallel=True) as place:
                store(combine(op, load(row, place), load(part, [piece.iv, *place])), row, place)

    def _carried_by(self, nest: Nest, level: int) -> list[tuple[Nest, int]]:
        """The outputs of a nest that stay in place while the loop at `level`, and those within, run."""
        inner = nest.order[level:]
        block = nest.block
        return [
            (nest, i)
            for i, access in enumerate(nest.outputs)
            if not any(access.uses(d) for d in inner) and any(True for _ in _out_argument(nest, block, i).uses)
        ]

    def _forget(self, nests: Sequence[Nest]) -> None:
        """Drop what is known about buffers that these nests write."""
        written = {access.root for nest in nests for access in nest.outputs}
        self._known = {key: value for key, value in self._known.items() if key[0] not in written}

    # --- bodies -------------------------------------------------------------------------------------

    def _emit_body(self, nest: Nest) -> None:
        arguments = list(nest.block.arguments)
        values: dict[Any, Any] = {}
        for argument, source in zip(arguments, (*nest.inputs, *nest.outputs), strict=True):
            if any(True for _ in argument.uses):
                values[argument] = self._load(nest, source) if isinstance(source, Access) else source
        for i in range(len(nest.outputs)):
            if (nest, i) in self._carried:
                values[_out_argument(nest, nest.block, i)] = self._carried[nest, i]
        yielded = clone_body(nest, values, self._ivs[nest])
        for i, (access, value) in enumerate(zip(nest.outputs, yielded, strict=True)):
            if (nest, i) in self._carried:
                self._carried[nest, i] = value
            else:
                self._store(nest, access, value)

    # --- memory -------------------------------------------------------------------------------------

    def _load(self, nest: Nest, access: Access) -> Any:
        output = _out_of(nest, access)
        if output in self._carried:
            return self._carried[output]
        memref, indices = self._place(nest, access)
        key = (access.root, memref, *indices)
        if key not in self._known:
            self._known[key] = load(memref, indices)
        return self._known[key]

    def _store(self, nest: Nest, access: Access, value: Any) -> None:
        memref, indices = self._place(nest, access)
        root = access.root
        self._known = {key: v for key, v in self._known.items() if key[0] != root}
        store(value, memref, indices)
        known = (root, memref, *indices)
        self._known[known] = value

    def _place(self, nest: Nest, access: Access) -> tuple[Any, list[Any]]:
        if access.memref in self._in_pieces:
            part, number = self._in_pieces[access.memref]
            return part, [number, *(emit_index(e, self._ivs[nest]) for e in access.exprs or ())]
        memref, dropped = self._stand_ins.get(access.memref, (access.memref, ()))
        exprs = [e for p, e in enumerate(access.exprs or ()) if p not in dropped]
        return memref, [emit_index(e, self._ivs[nest]) for e in exprs]


def clone_body(nest: Nest, values: dict[Any, Any], ivs: Mapping[int, Any]) -> list[Any]:
    """Write a nest's body, given the values of its arguments (added to); the values that it yields."""
    for view in nest.block.operations:
        op = view.operation
        if op.name == "linalg.yield":
            return [values.get(v, v) for v in op.operands]
        if op.name == "linalg.index":
            values[op.results[0]] = ivs[ir.IntegerAttr(op.attributes["dim"]).value]
            continue
        copy = _clone(op, values)
        if op.name in _REORDERED and _accumulates(nest, op):
            copy.attributes["fastmath"] = ir.Attribute.parse(_FASTMATH)
        elif op.name in EXTREMA:
            copy.attributes["fastmath"] = ir.Attribute.parse(EITHER_ZERO)
        values.update(zip(op.results, copy.results, strict=True))
    raise ValueError("a linalg body has no yield")


@contextmanager
def _loops(shape: Sequence[int], *, parallel: bool = False) -> Iterator[list[Any]]:
    """Nested loops over a buffer; yields their variables."""
    with ExitStack() as stack:
        yield [stack.enter_context(for_loop(0, size, parallel=parallel)).iv for size in shape]


def _is_in_function() -> bool:
    """Whether what is written now runs once."""
    return bool(ir.InsertionPoint.current.block.owner.operation.name == "func.func")


def _out_argument(nest: Nest, block: Any, output: int) -> Any:
    return block.arguments[len(nest.inputs) + output]


def _out_of(nest: Nest, access: Access) -> tuple[Nest, int]:
    return next(((nest, i) for i, out in enumerate(nest.outputs) if out is access), (nest, -1))


def _accumulates(nest: Nest, op: Any) -> bool:
    """Whether an op adds to a reduction's running value."""
    if all(nest.parallel):
        return False
    outs = list(nest.block.arguments)[len(nest.inputs) :]
    return any(operand in outs for operand in op.operands)


def _clone(op: Any, values: Mapping[Any, Any]) -> Any:
    copy = op.clone()
    for original, new in zip(_nested(op), _nested(copy), strict=True):
        for position, operand in enumerate(original.operands):
            if operand in values:
                new.operands[position] = values[operand]
    return copy


def _nested(op: Any) -> list[Any]:
    if not op.regions:
        return [op]
    return [op, *(n for region in op.regions for block in region.blocks for o in block for n in _nested(o.operation))]


def emit_index(expr: Any, ivs: Mapping[int, Any]) -> Any:
    """The value of an affine expression of loop variables."""
    if isinstance(expr, ir.AffineDimExpr):
        return ivs[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return index_constant(expr.value)
    left, right = emit_index(expr.lhs, ivs), emit_index(expr.rhs, ivs)
    name = _INDEX_OPS[type(expr)]
    return emit(name, [ir.IndexType.get()], [left, right])


_INDEX_OPS = {
    ir.AffineAddExpr: "arith.addi",
    ir.AffineMulExpr: "arith.muli",
    ir.AffineFloorDivExpr: "arith.floordivsi",
    ir.AffineCeilDivExpr: "arith.ceildivsi",
    ir.AffineModExpr: "arith.remsi",
}


# --- bools ----------------------------------------------------------------------------------------
# A bool takes a byte. LLVM doesn't vectorise loads and stores of i1, so they go through i8.


def load(memref: Any, indices: Sequence[Any]) -> Any:
    element = memref.type.element_type
    if not _is_bool(element):
        return emit("memref.load", [element], [memref, *indices])
    byte = emit("memref.load", [ir.IntegerType.get_signless(8)], [_bytes(memref), *indices])
    return emit("arith.trunci", [element], [byte])


def store(value: Any, memref: Any, indices: Sequence[Any]) -> None:
    if _is_bool(memref.type.element_type):
        value, memref = emit("arith.extui", [ir.IntegerType.get_signless(8)], [value]), _bytes(memref)
    emit("memref.store", [], [value, memref, *indices])


def _is_bool(type_: Any) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 1


def _bytes(memref: Any) -> Any:
    type_ = memref.type
    as_bytes = ir.MemRefType.get(type_.shape, ir.IntegerType.get_signless(8), layout=type_.layout)
    return emit("builtin.unrealized_conversion_cast", [as_bytes], [memref])
