"""Short ways for the commonest calls: one or two whole, contiguous tensors, or a tensor and a number.

They do what dispatch.py's handlers do, with what can be left out left out, and hand every other call to
those: views, other strides, complex numbers, CPU tensors, signatures met for the first time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.lines import forward, getframe, is_grad_enabled, is_user_file, sequence_number, where_of
from mlirdev.lazy.number_checks import CHECKED
from mlirdev.lazy.overloads import Overload, Scalar, tables
from mlirdev.lazy.storage import create, whole_cell
from mlirdev.lazy.trace import Cell, Entry, Trace, current_trace, enter, recorder

Handler = Callable[..., Any]
FindOverload = Callable[[], "Overload | None"]
_NUMBERS = frozenset({float, int, bool})
_reference = weakref.ref


def _made(trace: Trace, entry: Entry, words: tuple[Any, ...], scalars: tuple[Scalar, ...]) -> Tensor | None:
    """Record a node of one result; the tensor, or None if the trace was closed meanwhile."""
    layout = entry.layout
    tensor: Tensor = create(layout.shape, layout.dtype)
    cell = Cell()
    tensor.untyped_storage().cell = cell  # type: ignore[attr-defined]
    cell.layout = layout
    cell.trace = trace
    cell.buffer = None
    frame = getframe(1).f_back
    if frame is None or not is_user_file[frame.f_code.co_filename]:
        code, at = where_of(frame)
    else:
        code, at = frame.f_code, frame.f_lasti
    log = (code, at, _reference(cell))
    # Atomic from here on: see trace.py.
    if not trace.open:
        return None
    cell.number = number = trace.count
    trace.count = number + 1
    trace.code += words
    trace.scalars += scalars
    trace.log += log
    # Until here.
    if is_grad_enabled():
        forward[sequence_number() - 1] = (code, at, trace.stream)  # lines.note, without the call
    if number >= trace.checkpoint:
        recorder.check(trace)
    return tensor


def _written(trace: Trace, cell: Cell, words: tuple[Any, ...], scalars: tuple[Scalar, ...]) -> bool:
    """Record a node whose one result is what `cell` holds from now on; False if the trace was closed meanwhile."""
    frame = getframe(1).f_back
    if frame is None or not is_user_file[frame.f_code.co_filename]:
        code, at = where_of(frame)
    else:
        code, at = frame.f_code, frame.f_lasti
    log = (code, at, _reference(cell))
    # Atomic from here on: see trace.py.
    if not trace.open:
        return False
    number = trace.count
    trace.count = number + 1
    trace.code += words
    trace.scalars += scalars
    trace.log += log
    cell.trace = trace
    cell.number = number
    cell.buffer = None
    # Until here.
    if is_grad_enabled():
        forward[sequence_number() - 1] = (code, at, trace.stream)  # lines.note, without the call
    if number >= trace.checkpoint:
        recorder.check(trace)
    return True


class _Table(dict[Any, "Entry | None"]):
    """Entries by the operands' layouts and the numbers' types."""

    def __init__(self, find: FindOverload) -> None:
        super().__init__()
        self.find = find
        tables.append(self)

    def learn(self, key: Any, args: list[Any], target: Cell | None = None) -> Entry | None:
        """The entry of a key met for the first time, None if it isn't for the short way."""
        overload = self.find()
        if overload is None or (type(args[-1]) in _NUMBERS and not overload.params[1].varies):
            self[key] = None
            return None
        entry = overload.resolve(args, {})[0]
        usable = entry is not None and len(entry.slots) == 1 and entry.layout.quick_dtype is not None
        if target is not None and entry is not None:
            usable = usable and entry.layout is target.layout
        self[key] = entry if usable else None
        return self[key]


def unary(find: FindOverload, slow: Handler) -> Handler:
    """op(tensor)"""
    table = _Table(find)

    def handler(self: Tensor, **rest: Any) -> Any:
        cell = whole_cell(self)
        if cell is None or rest:
            return slow(self, **rest)
        layout = cell.layout
        entry = table[layout] if layout in table else table.learn(layout, [self])
        if entry is None:
            return slow(self)
        trace = recorder.trace or current_trace()
        number = cell.number if cell.trace is trace else enter(trace, cell)
        made = _made(trace, entry, (entry, number), ())
        return slow(self) if made is None else made

    return handler


def unary_(find: FindOverload, slow: Handler) -> Handler:
    """op_(tensor)"""
    table = _Table(find)

    def handler(self: Tensor, **rest: Any) -> Any:
        cell = whole_cell(self)
        if cell is None or rest:
            return slow(self, **rest)
        layout = cell.layout
        entry = table[layout] if layout in table else table.learn(layout, [self], cell)
        if entry is None:
            return slow(self)
        trace = recorder.trace or current_trace()
        number = cell.number if cell.trace is trace else enter(trace, cell)
        return self if _written(trace, cell, (entry, number), ()) else slow(self)

    return handler


def binary(find: FindOverload, slow: Handler) -> Handler:
    """op(tensor, tensor) and op(tensor, number)"""
    table = _Table(find)

    def handler(self: Any, other: Any, **rest: Any) -> Any:
        a = whole_cell(self)
        if a is None or rest:
            return slow(self, other, **rest)
        kind = type(other)
        b = None if kind in _NUMBERS else whole_cell(other)
        if b is None and kind not in _NUMBERS:
            return slow(self, other)
        key = (a.layout, kind if b is None else b.layout)
        entry = table[key] if key in table else table.learn(key, [self, other])
        if entry is None:
            return slow(self, other)
        trace = recorder.trace or current_trace()
        first = a.number if a.trace is trace else enter(trace, a)
        if b is None:
            made = _made(trace, entry, (entry, first), (other,))
        else:
            made = _made(trace, entry, (entry, first, b.number if b.trace is trace else enter(trace, b)), ())
        return slow(self, other) if made is None else made

    return handler


def binary_(find: FindOverload, slow: Handler) -> Handler:
    """op_(tensor, tensor) and op_(tensor, number)"""
    table = _Table(find)

    def handler(self: Any, other: Any, **rest: Any) -> Any:
        a = whole_cell(self)
        if a is None or rest:
            return slow(self, other, **rest)
        kind = type(other)
        b = None if kind in _NUMBERS else whole_cell(other)
        if b is None and kind not in _NUMBERS:
            return slow(self, other)
        key = (a.layout, kind if b is None else b.layout)
        entry = table[key] if key in table else table.learn(key, [self, other], a)
        if entry is None:
            return slow(self, other)
        trace = recorder.trace or current_trace()
        first = a.number if a.trace is trace else enter(trace, a)
        if b is None:
            done = _written(trace, a, (entry, first), (other,))
        else:
            done = _written(trace, a, (entry, first, b.number if b.trace is trace else enter(trace, b)), ())
        return self if done else slow(self, other)

    return handler


def shortened(op: torch._ops.OpOverload, find: FindOverload, slow: Handler, in_place: bool) -> Handler:
    """`slow`, behind the short way that fits the schema of `op`, if one does. `find` gives the functional overload."""
    schema = op._schema
    if str(op).replace("_.", ".") in CHECKED:
        return slow
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if any(a.has_default_value() for a in positional):
        return slow
    kinds = [str(a.type) for a in positional]
    if [str(r.type) for r in schema.returns] != ["Tensor"]:
        return slow
    if kinds == ["Tensor"]:
        return unary_(find, slow) if in_place else unary(find, slow)
    if kinds in (["Tensor", "Tensor"], ["Tensor", "number"]):
        return binary_(find, slow) if in_place else binary(find, slow)
    return slow
