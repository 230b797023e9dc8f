"""The handlers that PyTorch's dispatcher calls: one per overload, made from its schema.

functional   resolve ─► record ─► tensors
mutable      the functional overload's recording ─► written to the targets
no entry     what SELECTIONS has for it: values decide the result's size
neither      (nothing functional to map to, no selection) ─► fallback.py
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import views
from mlirdev.lazy.destinations import Strides, agree_on_destinations, dtype_for
from mlirdev.lazy.fallback import run_on_cpu
from mlirdev.lazy.handlers import SELECTIONS
from mlirdev.lazy.overlap import order_matters
from mlirdev.lazy.overloads import Call, Overload, overload_of
from mlirdev.lazy.quick import shortened
from mlirdev.lazy.record import record
from mlirdev.lazy.storage import DEVICE_TYPE, new_tensor, read, whole_cell, write
from mlirdev.lazy.trace import Cell, Entry

Handler = Callable[..., Any]
Op = torch._ops.OpOverload


def functional(op: Op) -> Handler:
    """The handler of an overload that writes nothing."""
    overload = overload_of(op)
    wrap = _wrapper(op)
    name = short_name(op)

    def handler(*args: Any, **kwargs: Any) -> Any:
        entry, call = overload.resolve(args, kwargs)
        if entry is None:
            selection = SELECTIONS.get(name)
            return selection(*args, **kwargs) if selection else run_on_cpu(op, args, kwargs, "data_dependent")
        return wrap(entry.returned(record(entry, call.cells, call.scalars)))

    return shortened(op, lambda: overload, handler)


def _wrapper(op: Op) -> Callable[[Sequence[Cell | None]], Any]:
    """Turns a node's results into what the overload returns."""
    returns = op._schema.returns
    if len(returns) == 1:
        return _list if "[]" in str(returns[0].type) or "List" in str(returns[0].type) else _single
    return _tuple


def _single(cells: Sequence[Cell | None]) -> Tensor | None:
    return None if cells[0] is None else new_tensor(cells[0])


def _list(cells: Sequence[Cell | None]) -> list[Tensor | None]:
    return [None if cell is None else new_tensor(cell) for cell in cells]


def _tuple(cells: Sequence[Cell | None]) -> tuple[Tensor | None, ...]:
    return tuple(None if cell is None else new_tensor(cell) for cell in cells)


def mutable(op: Op, functional_of: Callable[[Op], Op | None]) -> Handler:
    """The handler of an in-place or out= overload."""

    @functools.cache
    def target() -> _Targets:
        return _Targets(op)

    @functools.cache
    def overload() -> Overload | None:
        found = None if target().in_lists else functional_of(op)
        return None if found is None else overload_of(found)

    def handler(*args: Any, **kwargs: Any) -> Any:
        functional, targets = overload(), target()
        if functional is None:
            return run_on_cpu(op, args, kwargs, "no_rule")
        written = targets.of(args, kwargs)
        inputs = {n: v for n, v in kwargs.items() if n in functional.positions} if targets.out else kwargs
        entry, call = functional.resolve(args, inputs)
        cells = None if entry is None else _usual_targets(written, entry, call)
        if entry is None or cells is None:
            return _write_unusual(targets, functional, args, kwargs, inputs, written, entry, call)
        for cell, value in zip(cells, record(entry, call.cells, call.scalars)[-len(cells) :], strict=True):
            cell.assign(value)
        return targets.returned(written)

    return shortened(op, overload, handler)


def _write_unusual(
    targets: _Targets,
    functional: Overload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    inputs: dict[str, Any],
    written: list[Tensor],
    entry: Entry | None,
    call: Call,
) -> Any:
    """Views among the tensors, targets of other dtypes or sizes, results whose sizes values decide."""
    op = targets.op
    if any(t.device.type != DEVICE_TYPE for t in written):
        return run_on_cpu(op, args, kwargs, "data_dependent")
    layouts = None if entry is None else entry.outputs[-len(written) :]
    shapes = None if layouts is None else [layout.shape for layout in layouts]
    if order_matters(written, (*args, *kwargs.values()), shapes):
        return run_on_cpu(op, args, kwargs, "overlap")
    if entry is not None and layouts is not None:
        strides = agree_on_destinations(op, args, kwargs, written, layouts, call.key)
        results = _recorded(functional, entry, call, args, inputs, written)[-len(written) :]
    else:
        found = _selected(functional.op, args, inputs)
        if found is None:
            return run_on_cpu(op, args, kwargs, "data_dependent")
        results = found[-len(written) :]
        strides = agree_on_destinations(op, args, kwargs, written, [v.layout for v in results], call.key)
    for tensor, value, stride in zip(written, results, strides, strict=True):
        store(tensor, value, stride, resize=targets.out)
    return targets.returned(written)


def _usual_targets(written: Sequence[Tensor], entry: Entry, call: Call) -> list[Cell] | None:
    """The targets' cells, if all tensors are whole and the targets laid out as the results: nothing to check then."""
    if not call.whole:
        return None
    cells = []
    for tensor, layout in zip(written, entry.outputs[-len(written) :], strict=True):
        cell = whole_cell(tensor)
        if cell is None or cell.layout is not layout:
            return None
        cells.append(cell)
    return cells


def _recorded(
    overload: Overload, entry: Entry, call: Call, args: Sequence[Any], kwargs: dict[str, Any], written: Sequence[Tensor]
) -> Sequence[Cell]:
    """The results of a call, in the dtype of what they are written to where eager computes in that."""
    given = dtype_for(overload, entry, kwargs, written)
    if not given:
        return record(entry, call.cells, call.scalars)
    other, call = overload.resolve(args, kwargs | given)
    assert other is not None
    return record(other, call.cells, call.scalars)


def short_name(op: Op) -> str:
    """The overload's name as tables of handlers have it."""
    return str(op).removeprefix("aten.").removesuffix(".default")


def _selected(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Cell] | None:
    """The results of an overload whose results' sizes depend on values, or that draws them; None of any other."""
    selection = SELECTIONS.get(short_name(op))
    if selection is None and torch.Tag.nondeterministic_seeded not in op.tags:
        return None
    answer = (selection or op)(*args, **kwargs)
    return [read(t) for t in (answer if isinstance(answer, (tuple, list)) else [answer])]


class _Targets:
    """Which arguments a mutable overload writes."""

    def __init__(self, op: Op) -> None:
        self.op = op
        schema = op._schema
        found = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        self.places = [(i, a.name) for i, a in found]
        self.out = all(a.kwarg_only for _, a in found)
        self.in_lists = any("[]" in str(a.type) or "List" in str(a.type) for _, a in found)
        self.count = len(schema.returns)

    def of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
        return [args[i] if i < len(args) else kwargs[name] for i, name in self.places]

    def returned(self, written: list[Tensor]) -> Any:
        if not self.count:
            return None
        return written[0] if self.count == 1 else tuple(written)


def store(target: Tensor, value: Cell, stride: Strides | None, resize: bool) -> None:
    """Let `target` have a result: cast to its dtype, and with `resize` (out=) resized to its shape, in this layout."""
    cell = whole_cell(target)
    if cell is not None and cell.layout is value.layout:
        cell.assign(value)
        return
    shape = value.layout.shape
    if target.shape != shape:
        if not resize:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
            )
        target.resize_(shape)
        if stride is not None:
            target.as_strided_(shape, stride)
    write(target, views.cast(value, target.dtype))
