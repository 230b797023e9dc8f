"""Run-time sizes traced back to the graph's syms: every `?` and every index value as a PlanDim.

A tensor's size comes from where it was made: a destination-passing op's result has its `outs` operand's shape, a
tensor.empty's sizes are operands, a slice's are its sizes. Index arithmetic becomes DimExprs, folded where constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError
from mlirdev.graph import Sym
from mlirdev.passes.op_graph import OpGraph, OpNode
from mlirdev.plan import DimExpr, PlanDim, evaluate

BINARY = {
    "addi": "add",
    "subi": "sub",
    "muli": "mul",
    "floordivsi": "floordiv",
    "ceildivsi": "ceildiv",
    # Sizes aren't negative, so truncating and flooring division agree.
    "divsi": "floordiv",
    "divui": "floordiv",
    "remsi": "mod",
    "remui": "mod",
    "maxsi": "max",
    "minsi": "min",
    "maxui": "max",
    "minui": "min",
}
AFFINE = {
    ir.AffineAddExpr: "add",
    ir.AffineMulExpr: "mul",
    ir.AffineModExpr: "mod",
    ir.AffineFloorDivExpr: "floordiv",
    ir.AffineCeilDivExpr: "ceildiv",
}
CASTS = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"})


class DimTrace:
    """Shapes and index values of one OpGraph, remembered. `input_shapes` are the shapes of the function's tensor
    arguments as the Graph knows them, `syms` the values of the arguments that are syms."""

    def __init__(
        self, graph: OpGraph, input_shapes: dict[ir.Value, tuple[PlanDim, ...]], syms: dict[ir.Value, Sym]
    ) -> None:
        self._graph = graph
        self._shapes: dict[ir.Value, tuple[PlanDim, ...]] = {**input_shapes}
        self._dims: dict[ir.Value, PlanDim | None] = {**syms}

    def shape(self, value: ir.Value) -> tuple[PlanDim, ...]:
        """The shape of a tensor value. Raises InternalError for a size that depends on data."""
        if value not in self._shapes:
            static = tensor_shape(value.type)
            self._shapes[value] = self._dynamic_shape(value, static)
        return self._shapes[value]

    def numel(self, value: ir.Value) -> PlanDim:
        """The number of elements, in a form that is equal for equal products."""
        return product(self.shape(value))

    def dim(self, value: ir.Value) -> PlanDim | None:
        """An index or integer value as a PlanDim, or None if it doesn't come from sizes alone."""
        if value not in self._dims:
            node = self._graph.definer.get(value)
            self._dims[value] = None if node is None else self._dim_of(node)
        return self._dims[value]

    def _dim_of(self, node: OpNode) -> PlanDim | None:
        if node.name == "arith.constant":
            attribute = node.op.attributes["value"]
            return attribute.value if isinstance(attribute, ir.IntegerAttr) else None
        if node.name == "tensor.dim":
            position = self.dim(node.operands[1])
            return self.shape(node.operands[0])[position] if isinstance(position, int) else None
        if node.name in CASTS:
            return self.dim(node.operands[0])
        if node.name == "affine.apply":
            return self._affine(node)
        operation = BINARY.get(node.name.removeprefix("arith."))
        if operation is None:
            return None
        left, right = self.dim(node.operands[0]), self.dim(node.operands[1])
        return None if left is None or right is None else fold(operation, left, right)

    def _affine(self, node: OpNode) -> PlanDim | None:
        map_ = ir.AffineMapAttr(node.op.attributes["map"]).value
        values = [self.dim(value) for value in node.operands]
        known = [value for value in values if value is not None]
        return apply_affine(map_.results[0], known, map_.n_dims) if len(known) == len(values) else None

    # --- shapes of what is made at run time ---------------------------------------------------------

    def _dynamic_shape(self, value: ir.Value, static: tuple[int | None, ...]) -> tuple[PlanDim, ...]:
        if None not in static:
            return tuple(size for size in static if size is not None)
        node = self._graph.definer.get(value)
        if node is None:
            raise InternalError("an argument has a run-time size, but no graph was given that says which sym it is")
        dims = self._sizes(node, value, static)
        known = [d if s is None else s for s, d in zip(static, dims, strict=True)]
        found = tuple(d for d in known if d is not None)
        if len(found) < len(known):
            raise InternalError(f"the size of {value} depends on data")
        return found

    def _sizes(self, node: OpNode, value: ir.Value, static: tuple[int | None, ...]) -> tuple[PlanDim | None, ...]:
        operands = node.operands
        if node.name in ("tensor.empty", "tensor.generate", "tensor.splat"):
            return self._fill_in(static, operands[len(operands) - static.count(None) :])
        if node.name == "tensor.expand_shape":
            return self._fill_in(static, operands[1:])
        if node.name == "tensor.extract_slice":
            return self._slice_sizes(node, static)
        if node.name == "tensor.collapse_shape":
            return self._collapsed(node)
        if node.name == "tensor.pad":
            return self._padded(node)
        if node.name == "tensor.concat":
            return self._joined(node)
        if node.name in ("tensor.cast", "tensor.bitcast"):
            return self.shape(operands[0])
        if node.name in ("tensor.insert", "tensor.insert_slice"):
            return self.shape(operands[1])
        # Destination passing: the results have the shapes of the last operands.
        return self.shape(operands[len(operands) - len(node.results) + node.results.index(value)])

    def _fill_in(self, static: tuple[int | None, ...], sizes: tuple[ir.Value, ...]) -> tuple[PlanDim | None, ...]:
        run_time = iter(sizes)
        return tuple(self.dim(next(run_time)) if s is None else s for s in static)

    def _slice_sizes(self, node: OpNode, static: tuple[int | None, ...]) -> tuple[PlanDim | None, ...]:
        segments = [int(x) for x in ir.DenseI32ArrayAttr(node.op.attributes["operandSegmentSizes"])]
        first = segments[0] + segments[1]
        given = [int(x) for x in ir.DenseI64ArrayAttr(node.op.attributes["static_sizes"])]
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = list(self._fill_in(tuple(None if s == dynamic else s for s in given), node.operands[first:]))
        # A rank-reducing slice drops unit sizes.
        while len(sizes) > len(static):
            sizes.remove(1)
        return tuple(sizes)

    def _collapsed(self, node: OpNode) -> tuple[PlanDim | None, ...]:
        source = self.shape(node.operands[0])
        groups = ir.ArrayAttr(node.op.attributes["reassociation"])
        return tuple(product(source[ir.IntegerAttr(i).value] for i in ir.ArrayAttr(group)) for group in groups)

    def _padded(self, node: OpNode) -> tuple[PlanDim | None, ...]:
        source = self.shape(node.operands[0])
        rest = iter(node.operands[1:])
        total: list[PlanDim | None] = list(source)
        for name in ("static_low", "static_high"):
            for d, amount in enumerate(ir.DenseI64ArrayAttr(node.op.attributes[name])):
                by = self.dim(next(rest)) if amount == ir.ShapedType.get_dynamic_size() else int(amount)
                so_far = total[d]
                total[d] = None if so_far is None or by is None else fold("add", so_far, by)
        return tuple(total)

    def _joined(self, node: OpNode) -> tuple[PlanDim | None, ...]:
        axis = ir.IntegerAttr(node.op.attributes["dim"]).value
        sizes = list(self.shape(node.operands[0]))
        for operand in node.operands[1:]:
            sizes[axis] = fold("add", sizes[axis], self.shape(operand)[axis])
        return tuple(sizes)


def tensor_shape(type_: ir.Type) -> tuple[int | None, ...]:
    """A tensor type's shape, None for a run-time size."""
    dynamic = ir.ShapedType.get_dynamic_size()
    return tuple(None if size == dynamic else size for size in ir.RankedTensorType(type_).shape)


def element_type(type_: ir.Type) -> DType:
    """A tensor type's element type."""
    return DType(str(ir.RankedTensorType(type_).element_type))


def apply_affine(expr: ir.AffineExpr, values: list[PlanDim], dims: int) -> PlanDim:
    """An affine expression on these values: its dims, then its symbols."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return values[int(expr.position)]
    if isinstance(expr, ir.AffineSymbolExpr):
        return values[dims + int(expr.position)]
    operation = next(name for kind, name in AFFINE.items() if isinstance(expr, kind))
    return fold(operation, apply_affine(expr.lhs, values, dims), apply_affine(expr.rhs, values, dims))


def fold(operation: str, left: PlanDim, right: PlanDim) -> PlanDim:
    """A DimExpr, or its value where it is constant or trivial."""
    expr = DimExpr(operation, (left, right))
    if isinstance(left, int) and isinstance(right, int):
        return evaluate(expr, ())
    neutral = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "ceildiv": 1}.get(operation)
    if right == neutral:
        return left
    if left == neutral and operation in ("add", "mul"):
        return right
    return left if left == right and operation in ("max", "min") else expr


def product(dims: Iterator[PlanDim] | tuple[PlanDim, ...]) -> PlanDim:
    """The product in one fixed form: factors in order, the constant last; equal for equal multisets of factors."""
    constant, factors = 1, []
    for dim in (factor for d in dims for factor in _factors(d)):
        if isinstance(dim, int):
            constant *= dim
        else:
            factors.append(dim)
    if constant == 0 or not factors:
        return constant
    factors.sort(key=str)
    result: PlanDim = factors[0]
    for factor in factors[1:]:
        result = DimExpr("mul", (result, factor))
    return fold("mul", result, constant)


def _factors(dim: PlanDim) -> Iterator[PlanDim]:
    if isinstance(dim, DimExpr) and dim.op == "mul":
        for arg in dim.args:
            yield from _factors(arg)
    else:
        yield dim


def nbytes(shape: tuple[PlanDim, ...], dtype: DType) -> int:
    """An estimate of a value's bytes, for ordering: run-time sizes count as 64."""
    return math.prod(d if isinstance(d, int) else 64 for d in shape) * dtype.itemsize
