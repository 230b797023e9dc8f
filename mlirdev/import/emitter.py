"""A small vocabulary for linalg on builtin tensors, used by own/ inside the torch-dialect function.

    torch value ──tensor──► tensor<…> ──generic, loop, reshape──► tensor<…> ──to_torch──► torch value

Bodies of `generic` and `loop` are Python functions on scalar values, written with `op`, `constant` and the
shorthands below them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Ref, ScalarRef, TensorSpec
from mlirdev.plan import INDEX_HIGH, PlanDim

from .dims import Shape
from .promotion import HALVES
from .types import builtin_tensor

if TYPE_CHECKING:
    from .builder import TorchBuilder

_CMPI = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}
_CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ord": 7, "ult": 11, "une": 13, "uno": 14}

# Which dims of the loop nest index an operand, in order; None stands for element 0 of a broadcast dim.
Map = Sequence["int | ir.AffineExpr | None"]


class Emitter:
    """Emits at the builder's current place and location."""

    def __init__(self, builder: TorchBuilder) -> None:
        self.builder = builder
        self.i1 = builder.type("i1")
        self.i32 = builder.type("i32")
        self.i64 = builder.type("i64")
        self.index = builder.type("index")

    # --- values of the graph ------------------------------------------------------------------------

    def spec(self, arg: Arg) -> TensorSpec:
        assert isinstance(arg, Ref)
        return self.builder.specs[arg.value]

    def tensor(self, arg: Arg) -> ir.Value:
        """A value of the graph as a builtin tensor."""
        assert isinstance(arg, Ref)
        torch_value = self.builder.values[arg.value]
        return self.op("torch_c.to_builtin_tensor", self.tensor_type(self.spec(arg)), torch_value)

    def to_torch(self, value: ir.Value, spec: TensorSpec) -> ir.Value:
        return self.op("torch_c.from_builtin_tensor", self.builder.tensor_type(spec), value)

    def tensor_type(self, spec: TensorSpec) -> ir.Type:
        return self.builder.type(builtin_tensor(spec.shape, spec.dtype))

    def element_type(self, dtype: DType) -> ir.Type:
        return self.builder.type(dtype.builtin)

    def integer(self, arg: Arg) -> ir.Value:
        """A number argument ("int") as an i64."""
        if isinstance(arg, ScalarRef) and self.builder.graph.scalars[arg.index] == "bool":
            return self.op("torch_c.to_i64", self.i64, self.builder.scalars[arg.index])
        return self.op("torch_c.to_i64", self.i64, self.builder.operand(arg))

    def number(self, arg: Arg, dtype: DType) -> ir.Value:
        """A number argument as an element of `dtype`."""
        is_float = isinstance(arg, float) or (isinstance(arg, ScalarRef) and self._kind(arg) == "float")
        wide = self.builder.type("f64") if is_float else self.i64
        return self.convert(self.number_as(arg, wide), dtype)

    def _kind(self, arg: ScalarRef) -> str:
        return self.builder.graph.scalars[arg.index]

    def number_as(self, arg: Arg, wide: ir.Type) -> ir.Value:
        """A number argument as f64 or i64."""
        if isinstance(arg, (bool, int, float)):
            return self.constant(arg, wide)
        if isinstance(arg, ScalarRef) and self._kind(arg) == "float":
            value = self.op("torch_c.to_f64", self.builder.type("f64"), self.builder.scalars[arg.index])
        else:
            value = self.integer(arg)
        if value.type == wide:
            return value
        return self.op("arith.sitofp" if _is_float(wide) else "arith.fptosi", wide, value)

    def convert(self, value: ir.Value, dtype: DType) -> ir.Value:
        """A signed or float number as an element of `dtype`, in the CPU's steps: to a half by way of f32."""
        target = self.element_type(dtype)
        if value.type == target:
            return value
        if dtype is DType.i1:
            zero = self.constant(0, value.type)
            return self.cmp("une" if _is_float(value.type) else "ne", value, zero)
        if not _is_float(value.type):
            return self._from_integer(value, target, dtype)
        if not dtype.is_float:
            return self._to_integer(value, target)
        width = {"f64": 64, "f32": 32}
        single = self.builder.type("f32")
        if dtype in HALVES and value.type != single:  # of f64, or of the other half
            value = self.op("arith.truncf" if value.type == self.builder.type("f64") else "arith.extf", single, value)
        wider = width.get(str(target), 16) > width.get(str(value.type), 16)
        return self.op("arith.extf" if wider else "arith.truncf", target, value)

    def _from_integer(self, value: ir.Value, target: ir.Type, dtype: DType) -> ir.Value:
        if dtype.is_float:
            return self.op("arith.sitofp", target, value)
        wider = ir.IntegerType(target).width > ir.IntegerType(value.type).width
        return self.op("arith.extsi" if wider else "arith.trunci", target, value)

    def _to_integer(self, value: ir.Value, target: ir.Type) -> ir.Value:
        """Out of range: as the CPU's instructions have it, the least i32 or i64; smaller ones are its low bits."""
        if target in (self.i32, self.i64):
            return self.op("arith.fptosi", target, value)
        return self.op("arith.trunci", target, self.op("arith.fptosi", self.i32, value))

    def dim(self, dim: PlanDim) -> ir.Value:
        """A size as an index."""
        if isinstance(dim, int):
            return self.constant(dim, self.index)
        as_i64 = self.op("torch_c.to_i64", self.i64, self.builder.dim(dim))
        return self.op("arith.index_cast", self.index, as_i64)

    def dim_i64(self, dim: PlanDim) -> ir.Value:
        if isinstance(dim, int):
            return self.constant(dim, self.i64)
        return self.op("torch_c.to_i64", self.i64, self.builder.dim(dim))

    # --- operations ---------------------------------------------------------------------------------

    def op(
        self, name: str, result: ir.Type, *operands: ir.Value, attributes: dict[str, ir.Attribute] | None = None
    ) -> ir.Value:
        return self.builder.create(name, [result], operands, attributes)[0]

    def constant(self, value: int | float, type_: ir.Type) -> ir.Value:
        attribute = _attribute(value, type_)
        return self.op("arith.constant", type_, attributes={"value": attribute})

    def empty(self, shape: Shape, element: ir.Type) -> ir.Value:
        dims = "".join(f"{d}x" if isinstance(d, int) else "?x" for d in shape)
        runtime = [self.dim(d) for d in shape if not isinstance(d, int)]
        return self.op("tensor.empty", self.builder.type(f"tensor<{dims}{element}>"), *runtime)

    def filled(self, shape: Shape, value: ir.Value) -> ir.Value:
        """linalg.fill."""
        out = self.empty(shape, value.type)
        attributes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])}
        fill = ir.Operation.create(
            "linalg.fill", results=[out.type], operands=[value, out], attributes=attributes, regions=1
        )
        block = ir.Block.create_at_start(fill.regions[0], [value.type] * 2, [fill.location] * 2)
        with ir.InsertionPoint(block):
            self.builder.create("linalg.yield", [], [block.arguments[0]])
        return fill.results[0]

    def generic(
        self,
        shape: Shape,
        element: ir.Type,
        inputs: Sequence[tuple[ir.Value, Map]],
        body: Callable[..., ir.Value],
    ) -> ir.Value:
        """A tensor of this shape whose elements `body` computes from the inputs' elements."""
        out = self.empty(shape, element)
        maps = [m for _, m in inputs] + [list(range(len(shape)))]
        return self._generic(
            [v for v, _ in inputs], [out], maps, ["parallel"] * len(shape), lambda *e: [body(*e[:-1])]
        )[0]

    def reduce(
        self,
        inits: Sequence[ir.Value],
        inputs: Sequence[tuple[ir.Value, Map]],
        outer: Map,
        iterators: Sequence[str],
        body: Callable[..., Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """A reduction: body(elements…, accumulators…) gives the new accumulators; `outer` maps the results."""
        maps = [m for _, m in inputs] + [outer] * len(inits)
        return self._generic([v for v, _ in inputs], list(inits), maps, iterators, body)

    def _generic(
        self,
        inputs: Sequence[ir.Value],
        outs: Sequence[ir.Value],
        maps: Sequence[Map],
        iterators: Sequence[str],
        body: Callable[..., Sequence[ir.Value]],
    ) -> list[ir.Value]:
        values = [*inputs, *outs]
        attributes = {
            "indexing_maps": ir.ArrayAttr.get([_affine_map(m, len(iterators)) for m in maps]),
            "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{i}>") for i in iterators]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outs)]),
        }
        operation = ir.Operation.create(
            "linalg.generic", results=[o.type for o in outs], operands=values, attributes=attributes, regions=1
        )
        elements = [ir.RankedTensorType(v.type).element_type for v in values]
        location = operation.location
        block = ir.Block.create_at_start(operation.regions[0], elements, [location] * len(elements))
        with ir.InsertionPoint(block):
            self.builder.create("linalg.yield", [], list(body(*block.arguments)))
        return list(operation.results)

    def loops(
        self, bounds: Sequence[ir.Value], init: ir.Value, body: Callable[[list[ir.Value], ir.Value], ir.Value]
    ) -> ir.Value:
        """Nested loops in order, from 0 to each bound: body(indices, tensor) gives the next tensor."""
        return self.nest(bounds, [init], lambda at, carried: [body(at, carried[0])])[0]

    def nest(
        self,
        bounds: Sequence[ir.Value],
        inits: Sequence[ir.Value],
        body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """`loops` that carry several values: body(indices, values) gives the next ones."""
        if not bounds:
            return list(body([], list(inits)))
        zero, one = self.constant(0, self.index), self.constant(1, self.index)
        types = [v.type for v in inits]
        loop = ir.Operation.create("scf.for", results=types, operands=[zero, bounds[0], one, *inits], regions=1)
        block = ir.Block.create_at_start(loop.regions[0], [self.index, *types], [loop.location] * (1 + len(types)))
        with ir.InsertionPoint(block):
            i, *carried = block.arguments
            inner = self.nest(bounds[1:], carried, lambda indices, values: body([i, *indices], values))
            self.builder.create("scf.yield", [], inner)
        return list(loop.results)

    def iteration(self, dim: int) -> ir.Value:
        """linalg.index, as i64."""
        attribute = ir.IntegerAttr.get(self.i64, dim)
        return self.to_i64(self.op("linalg.index", self.index, attributes={"dim": attribute}))

    def extract(self, tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
        return self.op(
            "tensor.extract", ir.RankedTensorType(tensor.type).element_type, tensor, *map(self.to_index, indices)
        )

    def insert(self, value: ir.Value, tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
        return self.op("tensor.insert", tensor.type, value, tensor, *map(self.to_index, indices))

    # --- scalar arithmetic --------------------------------------------------------------------------

    def binary(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """arith.<name> of two values of one type."""
        return self.op(f"arith.{name}", a.type, a, b)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.binary("addf" if _is_float(a.type) else "addi", a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.binary("mulf" if _is_float(a.type) else "muli", a, b)

    def cmp(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        name, code = ("cmpf", _CMPF[predicate]) if _is_float(a.type) else ("cmpi", _CMPI[predicate])
        attribute = ir.IntegerAttr.get(self.i64, code)
        return self.op(f"arith.{name}", self.i1, a, b, attributes={"predicate": attribute})

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.select", a.type, condition, a, b)

    def check(self, condition: ir.Value, message: str) -> None:
        """What a later pass turns into the kernel's error word."""
        self.builder.create("cf.assert", [], [condition], {"msg": ir.StringAttr.get(message)})

    def to_index(self, value: ir.Value) -> ir.Value:
        return value if value.type == self.index else self.op("arith.index_cast", self.index, value)

    def to_i64(self, value: ir.Value) -> ir.Value:
        if value.type == self.i64:
            return value
        return self.op("arith.index_cast" if value.type == self.index else "arith.extsi", self.i64, value)

    def position(self, index: ir.Value, size: PlanDim, wraps: bool) -> ir.Value:
        """An element's index (i64), checked against the dimension it goes into, and clamped: so that a check
        which only reports does not let the access out of the tensor."""
        bound = self.dim_i64(size)
        zero = self.constant(0, self.i64)
        if wraps:
            index = self.select(self.cmp("slt", index, zero), self.add(index, bound), index)
        self.check(self.cmp("ult", index, bound), INDEX_HIGH)
        last = self.binary("subi", bound, self.constant(1, self.i64))
        return self.binary("maxsi", self.binary("minsi", index, last), zero)


def _attribute(value: int | float, type_: ir.Type) -> ir.Attribute:
    if _is_float(type_):
        return ir.FloatAttr.get(type_, float(value))
    if isinstance(type_, ir.IntegerType) and type_.width < 64 and value >= 1 << (type_.width - 1):
        value = int(value) - (1 << type_.width)
    return ir.IntegerAttr.get(type_, int(value))


def _is_float(type_: ir.Type) -> bool:
    return isinstance(type_, ir.FloatType)


def _affine_map(results: Map, dims: int) -> ir.Attribute:
    exprs = [
        ir.AffineConstantExpr.get(0) if r is None else ir.AffineDimExpr.get(r) if isinstance(r, int) else r
        for r in results
    ]
    return ir.AffineMapAttr.get(ir.AffineMap.get(dims, 0, exprs))
