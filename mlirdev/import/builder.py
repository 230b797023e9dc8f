"""Graph → torch dialect: one func.func @main with one torch op per node, built op by op, without text.

    aten.add.Tensor(%0, %1, 1)  // n3   →   torch.aten.add.Tensor %0, %1, %int1 : … -> …  loc("n3")

Operands come in the schema's order, so that no operator needs a word here. Operators that torch-mlir
doesn't lower, or not soundly, are emitted as linalg on builtin tensors in the same place (own/); its
pipelines leave those alone. Only what `rewriter.py` has prepared arrives here.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError, LoweringError
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, Size, Sym, TensorSpec
from mlirdev.plan import DimExpr, PlanDim

from .dims import RuntimeSizeError
from .emitter import Emitter
from .own import OWN
from .rewriter import Rewritten
from .types import TORCH_CODE, torch_tensor

_TORCH_SCALAR = {"float": "!torch.float", "int": "!torch.int", "bool": "!torch.int"}
_INT_OPS = {"add": "torch.aten.add.int", "sub": "torch.aten.sub.int", "mul": "torch.aten.mul.int"}
_INT_OPS["floordiv"] = "torch.aten.floordiv.int"
# Their list argument may hold None, and its type says so even where none is there.
_OPTIONAL_LISTS = ("aten.index.", "aten.index_put.")


def build(rewritten: Rewritten, context: ir.Context) -> ir.Module:
    """The module in the torch dialect; every op's location is the NameLoc "nK" of the node it comes from."""
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            TorchBuilder(rewritten.graph).build(rewritten.origins)
    return module


class TorchBuilder:
    """Builds one function. Constants, types and sizes are made once and shared."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.specs = graph.specs
        self.values: list[ir.Value] = []
        self.scalars: list[ir.Value] = []
        self.syms: list[ir.Value] = []
        self._types: dict[object, ir.Type] = {}
        self._constants: dict[tuple[type, object], ir.Value] = {}
        self._dims: dict[PlanDim, ir.Value] = {}
        self._locations: dict[int, ir.Location] = {}
        self.emitter = Emitter(self)

    def build(self, origins: Sequence[int]) -> None:
        graph = self.graph
        inputs = [self.tensor_type(s) for s in graph.inputs]
        scalars = [self.type(_TORCH_SCALAR[kind]) for kind in graph.scalars]
        arguments = [*inputs, *scalars, *[self.type("!torch.int")] * graph.syms]
        results = [self.tensor_type(self.specs[o]) for o in graph.outputs]
        entry = self._function(arguments, results)
        self._bind(list(entry.arguments))
        with ir.InsertionPoint(entry):
            for node, origin in zip(graph.nodes, origins, strict=True):
                with self._location(origin):
                    self.values += self._lowered(node, origin)
            self.create("func.return", [], [self.values[o] for o in graph.outputs])

    def _function(self, arguments: list[ir.Type], results: list[ir.Type]) -> ir.Block:
        attributes = {
            "sym_name": ir.StringAttr.get("main"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results)),
            # `?` dims of one op's operands are equal where they meet: recording has checked them.
            "torch.assume_strict_symbolic_shapes": ir.UnitAttr.get(),
        }
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        return ir.Block.create_at_start(function.regions[0], arguments)

    def _bind(self, arguments: list[ir.Value]) -> None:
        tensors, scalars = len(self.graph.inputs), len(self.graph.scalars)
        self.values = arguments[:tensors]
        self.scalars = arguments[tensors : tensors + scalars]
        self.syms = arguments[tensors + scalars :]

    def _location(self, origin: int) -> ir.Location:
        if origin not in self._locations:
            self._locations[origin] = ir.Location.name(f"n{origin}")
        return self._locations[origin]

    # --- nodes and their operands -------------------------------------------------------------------

    def _lowered(self, node: Node, origin: int) -> list[ir.Value]:
        try:
            return self._node(node)
        except RuntimeSizeError as error:
            raise LoweringError((origin,), f"{node.op}: {error}") from error

    def _node(self, node: Node) -> list[ir.Value]:
        own = OWN.get(node.op)
        if own is not None:
            return [self.emitter.to_torch(v, s) for v, s in zip(own(self.emitter, node), node.results, strict=True)]
        optional = node.op.startswith(_OPTIONAL_LISTS)
        operands = [self._list(a, optional) if isinstance(a, tuple) else self.operand(a) for a in node.args]
        return self.create(torch_op(node.op), [self.tensor_type(s) for s in node.results], operands)

    def operand(self, arg: Arg) -> ir.Value:
        match arg:
            case Ref(value):
                return self.values[value]
            case ScalarRef(index):
                return self.scalar(index)
            case Size(value):
                return self.dim(value)
            case DType():
                return self.constant(TORCH_CODE[arg])
            case None | bool() | int() | float() | str():
                return self.constant(arg)
            case tuple():
                return self._list(arg, False)
        raise InternalError(f"no way to pass {arg!r} to a torch op")

    def scalar(self, index: int) -> ir.Value:
        """A scalar input as the torch dialect's float, int or bool."""
        value = self.scalars[index]
        if self.graph.scalars[index] != "bool":
            return value
        return self.create("torch.aten.Bool.int", [self.type("!torch.bool")], [value])[0]

    def dim(self, dim: PlanDim) -> ir.Value:
        """A size as !torch.int."""
        if isinstance(dim, int):
            return self.constant(dim)
        if isinstance(dim, Sym):
            return self.syms[dim.index]
        if dim not in self._dims:
            operands = [self.dim(a) for a in dim.args]
            self._dims[dim] = self.create(_int_op(dim), [self.type("!torch.int")], operands)[0]
        return self._dims[dim]

    def constant(self, value: object) -> ir.Value:
        key = (type(value), repr(value))  # repr tells -0.0 from 0.0, and equals itself for nan
        if key not in self._constants:
            name, type_, attribute = _constant(value)
            attributes = {"value": attribute} if attribute is not None else {}
            self._constants[key] = self.create(f"torch.constant.{name}", [self.type(type_)], [], attributes)[0]
        return self._constants[key]

    def _list(self, items: tuple[Arg, ...], optional: bool) -> ir.Value:
        operands = [self.operand(i) for i in items]
        element = _list_element(items)
        text = f"optional<{element}>" if optional or None in items else element
        return self.create("torch.prim.ListConstruct", [self.type(f"!torch.list<{text}>")], operands)[0]

    # --- MLIR ---------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> list[ir.Value]:
        operation = ir.Operation.create(
            name, results=results, operands=operands, attributes=attributes or {}, regions=regions
        )
        return list(operation.results)

    def type(self, text: str) -> ir.Type:
        if text not in self._types:
            self._types[text] = ir.Type.parse(text)
        return self._types[text]

    def tensor_type(self, spec: TensorSpec) -> ir.Type:
        if spec not in self._types:
            self._types[spec] = self.type(torch_tensor(spec.shape, spec.dtype))
        return self._types[spec]


def torch_op(op: str) -> str:
    """The torch dialect's name of an overload: "aten.relu.default" is torch.aten.relu."""
    return "torch." + op.removesuffix(".default")


def _int_op(dim: DimExpr) -> str:
    if dim.op not in _INT_OPS:
        raise InternalError(f"size arithmetic '{dim.op}' isn't known here")
    return _INT_OPS[dim.op]


def _constant(value: object) -> tuple[str, str, ir.Attribute | None]:
    match value:
        case None:
            return "none", "!torch.none", None
        case bool():
            return "bool", "!torch.bool", ir.BoolAttr.get(value)
        case int():
            return "int", "!torch.int", ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
        case float():
            return "float", "!torch.float", ir.FloatAttr.get_f64(value)
        case str():
            return "str", "!torch.str", ir.StringAttr.get(value)
    raise InternalError(f"no torch constant for {value!r}")


def _list_element(items: tuple[Arg, ...]) -> str:
    """The torch dialect's element type of a list; lists of sizes are the only ones that come empty."""
    first = next((i for i in items if i is not None), 0)
    if isinstance(first, Ref):
        return "vtensor"
    if isinstance(first, bool):
        return "bool"
    return "float" if isinstance(first, float) else "int"
