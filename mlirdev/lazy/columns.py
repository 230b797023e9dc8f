"""One op on each element of lists, recorded in one go: what `_foreach_*` and the fused optimizers are made of.

    columns of cells, numbers ─► a key per row ─► an Entry per row ─► record_each ─► a column of cells

A column is a list of cells or numbers, one per row; what isn't a list is the same in every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import torch

from mlirdev.lazy.number_checks import check_numbers
from mlirdev.lazy.overloads import Param, Scalar, is_structural, named, tables
from mlirdev.lazy.record import record_each
from mlirdev.lazy.trace import Cell, Entry
from mlirdev.lazy.views import cast

Cells: TypeAlias = "Sequence[Cell]"
Numbers: TypeAlias = "Scalar | Sequence[Scalar]"


class Each:
    """An overload of one result, on columns. `arguments` of a call are those of the overload in schema order."""

    def __init__(self, name: str) -> None:
        self.overload = named(name)
        self._table: dict[tuple[Any, ...], Entry | None] = {}
        tables.append(self._table)

    def __call__(self, *arguments: Cell | Cells | Numbers) -> list[Cell]:
        """A column of the results."""
        result = self.recorded(*self.resolve(arguments))
        assert result is not None, f"{self.overload.name} has no rule for its results here"
        return result

    def resolve(self, arguments: Sequence[Any]) -> tuple[list[Entry | None], list[Cells], list[Sequence[Scalar]]]:
        """The rows' entries (None where the op can't be recorded as one node), columns of operands and numbers.

        Raises as eager does for operands that the op refuses.
        """
        rows = next(len(a) for a in arguments if type(a) is list)
        keys: list[Sequence[Any]] = []
        operands: list[Cells] = []
        numbers: list[Sequence[Scalar]] = []
        for param, argument in zip(self.overload.params, arguments):  # noqa: B905  (the rest have their defaults)
            column = argument if type(argument) is list else [argument] * rows
            if type(column[0]) is Cell:
                operands.append(column)
                keys.append([cell.layout for cell in column])
                continue
            key = _number_keys(self.overload.name, param, column)
            keys.append(key)
            if type in map(type, key):
                numbers.append(column)
        rest = (keys, arguments)
        table = self._table
        entries = [table[k] if k in table else self._learn(k, i, rest) for i, k in enumerate(zip(*keys, strict=True))]
        if self.overload.holds_numbers:
            for entry, row in zip(entries, zip(*numbers, strict=True)):  # noqa: B905  (no numbers: nothing to check)
                if entry is not None:
                    check_numbers(self.overload.name, row, entry.layout.dtype)
        return entries, operands, numbers

    def recorded(
        self, entries: list[Entry | None], operands: list[Cells], numbers: list[Sequence[Scalar]]
    ) -> list[Cell] | None:
        """Record the rows of `resolve`; None, and nothing recorded, if some row has no entry, or a number among the
        structure that isn't in others."""
        if any(entry is None or len(entry.scalars) != len(numbers) for entry in entries):
            return None
        return record_each(entries, operands, [*chain.from_iterable(zip(*numbers, strict=True))])  # type: ignore[arg-type]

    def _learn(self, key: tuple[Any, ...], row: int, rest: tuple[Any, Sequence[Any]]) -> Entry | None:
        """The entry of a row whose key is met for the first time."""
        values = [a[row] if type(a) is list else a for a in rest[1]]
        positional = sum(not a.kwarg_only for a in self.overload.op._schema.arguments)
        named_values = {p.name: v for p, v in zip(self.overload.params[positional:], values[positional:])}  # noqa: B905
        entry, call = self.overload.resolve(values[:positional], named_values)
        usable = entry is not None and len(entry.slots) == 1 and call.scalars == [
            v for v, part in zip(values, key, strict=True) if type(part) is type
        ]  # fmt: skip
        self._table[key] = entry if usable else None
        return self._table[key]


def _number_keys(op: str, param: Param, column: Sequence[Any]) -> list[Any]:
    """A number's part of each row's key: its type where it is an input of the graph, itself where it is structure."""
    if param.varies:
        return [type(number) for number in column]
    keys: list[Any] = []
    last: Any = column
    for number in column:
        if number is not last:
            last = number
            keys.append(type(number) if not is_structural(op, param.name, number) else (type(number), number))
        else:
            keys.append(keys[-1])
    return keys


class Column:
    """A column of cells, for formulas; the other operand may be a column, a cell, or a number."""

    __slots__ = ("cells",)

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells

    def op(self, name: str, *rest: Operand) -> Column:
        """The op `aten.name` on every row."""
        return Column(each(f"aten.{name}")(self.cells, *map(_plain, rest)))

    def __add__(self, other: Operand) -> Column:
        return self.op("add.Tensor", other)

    def __sub__(self, other: Operand) -> Column:
        return self.op("sub.Tensor", other)

    def __mul__(self, other: Operand) -> Column:
        return self.op("mul.Tensor", other)

    def __truediv__(self, other: Operand) -> Column:
        return self.op("div.Tensor", other)

    def __neg__(self) -> Column:
        return self.op("neg.default")

    def sqrt(self) -> Column:
        return self.op("sqrt.default")

    def to(self, *dtypes: torch.dtype) -> Column:
        """The rows in these dtypes, one for all or one for each."""
        wanted = dtypes if len(dtypes) > 1 else dtypes * len(self.cells)
        return Column([cast(cell, dtype) for cell, dtype in zip(self.cells, wanted, strict=True)])


Operand: TypeAlias = "Column | Cell | Scalar"


def _plain(operand: Operand) -> Any:
    return operand.cells if isinstance(operand, Column) else operand


@cache
def each(name: str) -> Each:
    """The op of this full name ("aten.add.Tensor"), on columns."""
    return Each(name)
