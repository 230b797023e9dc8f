"""Short ways: what dispatch.py's handlers do, for calls like ones that were met before.

    call ─► short(…), made at the overload's first call (short_text.py) ─► results
               └ MISS: a signature that the short way isn't for, or a trace that was closed meanwhile ─► the long way

A table per overload has the Entry of every signature: layouts of tensors as they are given, types of run-time
numbers, values of all else. Views among the operands are read as recorded nodes, once per trace (views.View).
Complex numbers, CPU tensors, views that are written to, lists of results: the long way.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.lines import forward, getframe, is_grad_enabled, is_user_file, sequence_number, where_of
from mlirdev.lazy.number_checks import check_numbers
from mlirdev.lazy.overloads import Overload, Scalar, is_structural, tables
from mlirdev.lazy.short_text import arguments_of, text_of
from mlirdev.lazy.storage import create, new_tensor, whole_cell
from mlirdev.lazy.trace import Cell, Entry, Trace, current_trace, enter, recorder
from mlirdev.lazy.views import View, view_of

Handler = Callable[..., Any]
# What a short way answers where the long one must be taken.
MISS = object()
_NUMBERS = frozenset({float, int, bool})


def shortened(op: torch._ops.OpOverload, find: Callable[[], Overload | None], slow: Handler) -> Handler:
    """`slow`, behind the short way of `op`, if its schema allows one. `find` gives the functional overload."""
    returns = op._schema.returns
    written = [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if not returns or any(str(r.type) != "Tensor" for r in returns) or len(written) > 1:
        return slow

    short: Handler

    def first(*args: Any, **kwargs: Any) -> Any:
        nonlocal short
        functional = find()
        short = _none if functional is None else _short_way(op, functional, written[0].name if written else None)
        return short(*args, **kwargs)

    short = first

    def handler(*args: Any, **kwargs: Any) -> Any:
        made = short(*args, **kwargs)
        return slow(*args, **kwargs) if made is MISS else made

    return handler


def _none(*args: Any, **kwargs: Any) -> object:
    """The short way of an overload without one."""
    return MISS


def _short_way(op: torch._ops.OpOverload, functional: Overload, written: str | None) -> Handler:
    """The function that the overload's text defines."""
    arguments = arguments_of(op._schema, functional)
    if arguments is None or (written and any(a.is_tensor and a.is_list for a in arguments)):
        return _none
    target = next((a for a in arguments if a.argument == written), None)
    results = len(op._schema.returns)
    table = _Table(functional, results, None if target is None else target.i)
    text = text_of(arguments, results, target, functional.holds_numbers)
    names = _HELPERS | {"table": table, "learn": table.learn, "op_name": functional.name}
    names |= {f"d{i}": a.default_value for i, a in enumerate(op._schema.arguments) if a.has_default_value()}
    exec(_compiled(text), names)
    short: Handler = names["short"]
    return short


_numbers = itertools.count()


@cache
def _compiled(text: str) -> CodeType:
    """A text's code, which tracebacks and debuggers show line by line; the overloads of like schemas share it."""
    file = f"<short way {next(_numbers)} of mlirdev>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return compile(text, file, "exec")


class _Table(dict[Any, "Entry | bool"]):
    """The entries of one overload by their keys; False where the long way must be taken."""

    def __init__(self, overload: Overload, results: int, target: int | None) -> None:
        super().__init__()
        self.overload = overload
        self.results = results
        self.target = target  # its place in the key
        tables.append(self)

    def learn(
        self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], scalars: tuple[Scalar, ...]
    ) -> Entry | None:
        """The entry of a key that is met for the first time, None if it isn't for the short way."""
        entry, call = self.overload.resolve(args, kwargs)
        if entry is None or tuple(call.scalars) != scalars or not self._is_usual(entry, key):
            self[key] = False
            return None
        self[key] = entry
        return entry

    def _is_usual(self, entry: Entry, key: tuple[Any, ...]) -> bool:
        """Are the results as many as the text takes, and laid out as what they are written to?"""
        if self.target is not None:
            return len(entry.slots) == 1 and entry.layout is key[self.target]
        return len(entry.outputs) == len(entry.slots) == self.results


def viewed(tensor: Any) -> tuple[Cell, View] | tuple[None, None]:
    """The cell of a tensor that isn't whole, and how it views it; neither, where it isn't for the short way."""
    try:
        cell: Cell = tensor.untyped_storage().cell
    except AttributeError:  # None, a number, or a CPU tensor
        return None, None
    dtype = tensor.dtype
    if dtype is not cell.layout.dtype or dtype.is_complex or 0 in tensor.shape:
        return None, None
    return cell, view_of(cell.layout, dtype, tensor.shape, tensor.stride(), tensor.storage_offset())


def new_result(layout: Any, trace: Trace) -> tuple[Tensor, Cell]:
    """A tensor for a value that `trace` is about to have, and its cell, without the value's number."""
    cell = Cell()
    cell.layout = layout
    cell.trace = trace
    cell.buffer = None
    if layout.quick_dtype is None:
        return new_tensor(cell), cell
    tensor: Tensor = create(layout.shape, layout.dtype)
    tensor.untyped_storage().cell = cell  # type: ignore[attr-defined]
    return tensor, cell


_HELPERS: dict[str, Any] = {
    "MISS": MISS,
    "NUMBERS": _NUMBERS,
    "check_numbers": check_numbers,
    "current_trace": current_trace,
    "enter": enter,
    "forward": forward,
    "getframe": getframe,
    "is_grad_enabled": is_grad_enabled,
    "is_structural": is_structural,
    "is_user_file": is_user_file,
    "new_result": new_result,
    "recorder": recorder,
    "reference": weakref.ref,
    "sequence_number": sequence_number,
    "viewed": viewed,
    "where_of": where_of,
    "whole_cell": whole_cell,
}
