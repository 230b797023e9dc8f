"""Vectors of one computing type, loaded from and stored to flat buffers that may hold a narrower one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, as_value
from mlirdev.passes.ops import constant, emit
from mlirdev.passes.packing import create_mask, splat


@dataclass(frozen=True)
class Vectors:
    """Vectors of `lanes` numbers of type `element`."""

    lanes: int
    element: Any

    @property
    def type(self) -> Any:
        return ir.VectorType.get([self.lanes], self.element)

    @property
    def mask_type(self) -> Any:
        return ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))

    # --- memory -------------------------------------------------------------------------------------

    def load(self, flat: Any, at: Index, count: Index | None = None) -> Any:
        """The vector at a place; of only `count` numbers where that is given, zeros behind them."""
        stored = ir.VectorType.get([self.lanes], flat.type.element_type)
        if count is None:
            value = emit("vector.load", [stored], [flat, as_value(at)])
        else:
            operands = [flat, as_value(at), create_mask(self.lanes, count), splat(stored, 0.0)]
            value = emit("vector.maskedload", [stored], operands)
        return _converted(value, self.type)

    def store(self, value: Any, flat: Any, at: Index, count: Index | None = None) -> None:
        value = _converted(value, ir.VectorType.get([self.lanes], flat.type.element_type))
        if count is None:
            emit("vector.store", [], [value, flat, as_value(at)])
        else:
            emit("vector.maskedstore", [], [flat, as_value(at), create_mask(self.lanes, count), value])

    def load_number(self, flat: Any, at: Index) -> Any:
        return _converted(emit("memref.load", [flat.type.element_type], [flat, as_value(at)]), self.element)

    def store_number(self, value: Any, flat: Any, at: Index) -> None:
        emit("memref.store", [], [_converted(value, flat.type.element_type), flat, as_value(at)])

    # --- arithmetic ---------------------------------------------------------------------------------

    def number(self, value: float) -> Any:
        return constant(self.element, value)

    def splat(self, value: float) -> Any:
        return splat(self.type, value)

    def spread(self, number: Any) -> Any:
        return emit("vector.broadcast", [self.type], [number])

    def add_up(self, value: Any) -> Any:
        """The lanes' sum, in any order."""
        kind, any_order = ir.Attribute.parse("#vector.kind<add>"), ir.Attribute.parse("#arith.fastmath<reassoc>")
        return emit("vector.reduction", [self.element], [value], kind=kind, fastmath=any_order)

    def greatest(self, value: Any) -> Any:
        """The greatest lane of those that aren't NaN; -inf where all are."""
        kind = ir.Attribute.parse("#vector.kind<maxnumf>")
        return emit("vector.reduction", [self.element], [value], kind=kind)


def binary(name: str, a: Any, b: Any) -> Any:
    """arith.<name> of numbers or vectors of one type."""
    return emit(f"arith.{name}", [a.type], [a, b])


def larger(a: Any, b: Any) -> Any:
    """a where it is larger, else b: one instruction, which passes a NaN in a over."""
    return select(compare("ogt", a, b), a, b)


_PREDICATES = {"oeq": 1, "ogt": 2}


def compare(predicate: str, a: Any, b: Any) -> Any:
    """An i1, or a vector of them, of floats."""
    bit, i64 = (ir.IntegerType.get_signless(width) for width in (1, 64))
    type_ = ir.VectorType.get(a.type.shape, bit) if isinstance(a.type, ir.VectorType) else bit
    return emit("arith.cmpf", [type_], [a, b], predicate=ir.IntegerAttr.get(i64, _PREDICATES[predicate]))


def select(condition: Any, a: Any, b: Any) -> Any:
    return emit("arith.select", [a.type], [condition, a, b])


def _converted(value: Any, type_: Any) -> Any:
    if value.type == type_:
        return value
    wide, narrow = (t.element_type if isinstance(t, ir.VectorType) else t for t in (type_, value.type))
    return emit("arith.extf" if wide.width > narrow.width else "arith.truncf", [type_], [value])
