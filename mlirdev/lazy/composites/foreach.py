"""`_foreach_*`: an op on each tensor of a list, recorded for all of them at once.

What isn't plain (tensors that show a part of their storage, lists in which one tensor is written and read in another
place, results of other dtypes or sizes, lists of different lengths) goes PyTorch's own way, tensor by tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.columns import Cells, each
from mlirdev.lazy.handlers import HANDLERS
from mlirdev.lazy.storage import new_tensor, whole_cell
from mlirdev.lazy.trace import Cell

aten = torch.ops.aten
_NUMBERS = (float, int, bool)
# A backend without kernels of its own has those that go through the list.
_ONE_BY_ONE = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse3)

# Overloads of lists, without "_foreach_": the overload of one element. Those in place follow.
_UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
_ELEMENTS = {
    **{name: f"aten.{name}.default" for name in _UNARY.split()},
    **{
        f"{name}.{kind}": f"aten.{name}.{'Tensor' if kind == 'List' else 'Scalar'}"
        for name in ("add", "sub", "mul", "div")
        for kind in ("Scalar", "ScalarList", "List")
    },
    **{
        f"{name}.{kind}": f"aten.{name}.default"
        for name in ("addcmul", "addcdiv", "clamp_min", "clamp_max")
        for kind in ("Scalar", "ScalarList")
    },
    "clamp_min.List": "aten.clamp_min.Tensor",
    "clamp_max.List": "aten.clamp_max.Tensor",
    "maximum.List": "aten.maximum.default",
    "minimum.List": "aten.minimum.default",
    "mul.Tensor": "aten.mul.Tensor",
    "div.Tensor": "aten.div.Tensor",
    "lerp.Scalar": "aten.lerp.Scalar",
    "lerp.ScalarList": "aten.lerp.Scalar",
    "lerp.List": "aten.lerp.Tensor",
    "pow.Scalar": "aten.pow.Tensor_Scalar",
    "pow.ScalarList": "aten.pow.Tensor_Scalar",
}


def _register() -> None:
    for name, element in _ELEMENTS.items():
        base, dot, overload = name.partition(".")
        for handler, suffix in ((_functional, ""), (_in_place, "_")):
            op = getattr(getattr(aten, f"_foreach_{base}{suffix}"), overload or "default")
            HANDLERS[f"_foreach_{base}{suffix}{dot}{overload}"] = partial(handler, op, element)


def _functional(op: torch._ops.OpOverload, element: str, *lists: Any, **rest: Any) -> list[Tensor]:
    columns = _columns(lists, rest)
    cells = None if columns is None else _recorded(element, columns, None)
    if cells is None:
        return op.redispatch(_ONE_BY_ONE, *lists, **rest)  # type: ignore[no-any-return]
    return [new_tensor(cell) for cell in cells]


def _in_place(op: torch._ops.OpOverload, element: str, *lists: Any, **rest: Any) -> None:
    columns = _columns(lists, rest)
    targets = None if columns is None or not _is_in_order(columns) else columns[0]
    cells = None if columns is None or targets is None else _recorded(element, columns, targets)
    if cells is None or targets is None:
        op.redispatch(_ONE_BY_ONE, *lists, **rest)
        return
    for target, cell in zip(targets, cells, strict=True):
        target.assign(cell)
    torch._C._increment_version(lists[0])


def _columns(lists: Sequence[Any], rest: dict[str, Any]) -> list[Any] | None:
    """The arguments with cells in place of tensors; None if some tensor isn't whole, or the lists' lengths differ."""
    columns: list[Any] = []
    for argument in (*lists, *rest.values()):
        if isinstance(argument, (list, tuple)):
            column = [a if type(a) in _NUMBERS else whole_cell(a) for a in argument]
            if None in column or len(column) != len(lists[0]) or not column:
                return None
            columns.append(column)
        elif type(argument) in _NUMBERS:
            columns.append(argument)
        else:
            columns.append(whole_cell(argument))
            if columns[-1] is None:
                return None
    return columns


def _is_in_order(columns: Sequence[Any]) -> bool:
    """Are no results written before another row reads what was there?"""
    targets = {id(cell): row for row, cell in enumerate(columns[0])}
    if len(targets) != len(columns[0]):
        return False
    others: list[Cells] = [c if type(c) is list else [c] * len(targets) for c in columns[1:] if type(c) not in _NUMBERS]
    return all(targets.get(id(cell), row) == row for column in others for row, cell in enumerate(column))


def _recorded(element: str, columns: Sequence[Any], targets: Cells | None) -> list[Cell] | None:
    """The results; None, and nothing recorded, where they are not to be had at once or laid out unlike the targets."""
    op = each(element)
    try:
        entries, operands, numbers = op.resolve(columns)
    except Exception:  # one by one it is raised again, behind the rows before it
        return None
    if targets is not None and any(
        entry is None or entry.layout is not cell.layout for entry, cell in zip(entries, targets, strict=True)
    ):
        return None
    return op.recorded(entries, operands, numbers)


_register()
