"""An epilogue on vectors: its nests at once for neighbours along one of C's dims.

Where bodies are arithmetic on floats and memory lies along that dim, or doesn't move with it, nothing is left to LLVM's
vectoriser: it makes several loops of one, for counts that it doesn't know to be small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index
from mlirdev.passes.epilogue import EpilogueEmitter, EpilogueNest
from mlirdev.passes.loop_emission import EITHER_ZERO, EXTREMA
from mlirdev.passes.nests import Access
from mlirdev.passes.ops import emit
from mlirdev.passes.vectors import Vectors


def fits(emitter: EpilogueEmitter, dim: int) -> bool:
    """Whether all nests of an epilogue can run on vectors along this dim of C."""
    return all(_is_arithmetic(epilogue) and _lies_along(emitter, epilogue, dim) for epilogue in emitter.nests)


def _is_arithmetic(epilogue: EpilogueNest) -> bool:
    *body, _ = [view.operation for view in epilogue.nest.block.operations]
    return all(op.name.startswith("arith.") and len(op.results) == 1 for op in body)


def _lies_along(emitter: EpilogueEmitter, epilogue: EpilogueNest, dim: int) -> bool:
    nest = epilogue.nest
    for i, (argument, source) in enumerate(zip(nest.block.arguments, (*nest.inputs, *nest.outputs), strict=True)):
        is_output = i >= len(nest.inputs)
        if not isinstance(source, Access) or not (is_output or any(True for _ in argument.uses)):
            continue
        access = emitter.linear[nest, i]
        (stride,) = epilogue.strides(access, (dim,))
        if not isinstance(access.element_type, ir.FloatType) or not isinstance(stride, int):
            return False
        if stride != 1 and (is_output or stride != 0):
            return False
    return True


class EpilogueVectors:
    """Writes the nests of an epilogue that `fits` for vectors of `lanes` along `dim`."""

    def __init__(self, emitter: EpilogueEmitter, dim: int, lanes: int) -> None:
        self.emitter = emitter
        self.dim = dim
        self.lanes = lanes

    def emit(self, fixed: Mapping[int, Index], value: Any, count: Index | None) -> None:
        """All nests where C has these values; `fixed` says where every dim stands for the first of them, and `count`
        how many there are, None for all lanes."""
        known = {self.emitter.result_key: value}
        for epilogue in self.emitter.nests:
            with epilogue.nest.op.location:
                self._nest(epilogue, dict(fixed), count, known)

    def _nest(
        self, epilogue: EpilogueNest, fixed: dict[int, Index], count: Index | None, known: dict[Any, Any]
    ) -> None:
        nest = epilogue.nest
        values = {}
        for i, (argument, source) in enumerate(zip(nest.block.arguments, (*nest.inputs, *nest.outputs), strict=True)):
            if isinstance(source, Access) and any(True for _ in argument.uses):
                values[argument] = self._load(epilogue, i, fixed, count, known)
            elif not isinstance(source, Access):
                values[argument] = self._spread(source)
        for i, value in enumerate(self._body(epilogue, values), start=len(nest.inputs)):
            key = self.emitter.key(epilogue, i)
            for other in [k for k in known if k[0] == key[0]]:
                del known[other]
            flat, at = self.emitter.place(epilogue, i, fixed)
            self._vectors(flat).store(value, flat, at, count)
            known[key] = value

    def _load(
        self,
        epilogue: EpilogueNest,
        i: int,
        fixed: dict[int, Index],
        count: Index | None,
        known: dict[Any, Any],
    ) -> Any:
        key = self.emitter.key(epilogue, i)
        if key not in known:
            flat, at = self.emitter.place(epilogue, i, fixed)
            (stride,) = epilogue.strides(self.emitter.linear[epilogue.nest, i], (self.dim,))
            vectors = self._vectors(flat)
            known[key] = vectors.load(flat, at, count) if stride else vectors.spread(vectors.load_number(flat, at))
        return known[key]

    def _body(self, epilogue: EpilogueNest, values: dict[Any, Any]) -> list[Any]:
        for view in epilogue.nest.block.operations:
            op = view.operation
            operands = [values[v] if v in values else self._spread(v) for v in op.operands]
            if op.name == "linalg.yield":
                return operands
            result = op.results[0]
            if op.name == "arith.constant":
                values[result] = self._spread(emit(op.name, [result.type], value=op.attributes["value"]))
                continue
            attributes = {name: op.attributes[name] for name in op.attributes}
            if op.name in EXTREMA:
                attributes["fastmath"] = ir.Attribute.parse(EITHER_ZERO)
            values[result] = emit(op.name, [ir.VectorType.get([self.lanes], result.type)], operands, **attributes)
        raise ValueError("a linalg body has no yield")

    def _spread(self, number: Any) -> Any:
        return Vectors(self.lanes, number.type).spread(number)

    def _vectors(self, flat: Any) -> Vectors:
        return Vectors(self.lanes, flat.type.element_type)
