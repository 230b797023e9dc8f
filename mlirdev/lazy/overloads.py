"""An overload as recording sees it: how a call's arguments become a key, and the key an interned Entry.

call ─► what was given, in schema order ─► key: layouts, scalars' types, structural values ─► Entry
                                              └ miss: rule, else Meta kernel, else no entry (None)

Arguments that weren't given have their defaults, so that the key says which were given is enough.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mlirdev.errors import InternalError, UnsupportedError
from mlirdev.events import SpecMiss, emit, listening
from mlirdev.graph import Arg, Ref, ScalarRef, Size
from mlirdev.lazy import meta
from mlirdev.lazy.layouts import DTYPES, layout_of
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.number_checks import CHECKED, check_numbers
from mlirdev.lazy.operands import check_device, operand, operand_layout
from mlirdev.lazy.record import record
from mlirdev.lazy.specs import Meta, rule_for
from mlirdev.lazy.specs.arguments import argument_class, structural_scalar
from mlirdev.lazy.storage import whole_cell
from mlirdev.lazy.trace import Cell, Entry

Scalar = float | int | bool
_IGNORED = frozenset({"device", "layout", "pin_memory", "memory_format", "generator"})
_MISSING = object()
is_structural = functools.lru_cache(maxsize=8192, typed=True)(structural_scalar)
_PROBES = (-2, -1, -0.5, 0, 0.5, 1, 2, 3, 0.1, float("-inf"))
_TENSORS = frozenset({Tensor, torch.nn.Parameter})
_SCALAR_TYPES = {float: "float", int: "int", bool: "bool"}
# Tagged for a dropout that the CPU's kernel doesn't have.
_TAGGED_ALL_THE_SAME = frozenset({"aten::_scaled_dot_product_flash_attention_for_cpu"})


def draws_numbers(op: torch._ops.OpOverload) -> bool:
    """Whether an operator's values are random."""
    return torch.Tag.nondeterministic_seeded in op.tags and op._schema.name not in _TAGGED_ALL_THE_SAME


@dataclass(frozen=True)
class Param:
    """A schema argument."""

    name: str
    kind: str  # argument class
    default: Any
    ignored: bool  # not part of the Graph: the device, memory layouts
    varies: bool  # a number here is a run-time scalar whatever its value


@dataclass
class Call:
    """A bound call taken apart."""

    key: list[Any]
    cells: list[Cell]
    scalars: list[Scalar]
    whole: bool = True  # every tensor shows its storage's value as it is


class Overload:
    """One overload and its intern table."""

    def __init__(self, op: torch._ops.OpOverload) -> None:
        self.op = op
        self.name = str(op)
        self.table: dict[Any, Entry | None] = {}
        self.holds_numbers = self.name in CHECKED
        tables.append(self.table)

    # Of 1,600 overloads a program calls fifty, so what is known about the arguments waits for the first call.
    @functools.cached_property
    def params(self) -> list[Param]:
        return [_param(self.name, a) for a in self.op._schema.arguments]

    @functools.cached_property
    def positions(self) -> dict[str, int]:
        return {p.name: i for i, p in enumerate(self.params)}

    @functools.cached_property
    def defaults(self) -> tuple[Any, ...]:
        return tuple(p.default for p in self.params)

    def call(self, *args: Any, **kwargs: Any) -> tuple[Cell | None, ...]:
        """Record the op on tensors or cells; a cell per result, None where it has none."""
        entry, call = self.resolve(args, kwargs)
        if entry is None:
            raise InternalError(f"{self.name} has no rule for its results here")
        return entry.returned(record(entry, call.cells, call.scalars))

    @functools.cached_property
    def has_varying_default(self) -> bool:
        """Is there a run-time scalar among the defaults, which a recording takes as if it had been given?"""
        return any(
            p.kind in ("scalar", "tensor")
            and type(p.default) in _SCALAR_TYPES
            and not structural_scalar(self.name, p.name, p.default)
            for p in self.params
        )

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """All arguments in schema order."""
        full = [*args, *self.defaults[len(args) :]]
        for name, value in kwargs.items():
            full[self.positions[name]] = value
        return full

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterable[tuple[Param, Any]]:
        """The arguments that count: those given, in schema order, or all."""
        if self.has_varying_default:
            return zip(self.params, self._bind(args, kwargs), strict=True)
        if not kwargs:
            return zip(self.params, args)  # noqa: B905  (fewer arguments than parameters)
        places = sorted([self.positions[name] for name in kwargs])
        named = [(self.params[i], kwargs[self.params[i].name]) for i in places]
        return [*zip(self.params, args), *named]  # noqa: B905  (as above)

    def resolve(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Entry | None, Call]:
        """The entry of a call, with the cells and scalars that a recording of it takes."""
        call = Call([len(args), *sorted(kwargs)] if kwargs else [len(args)], [], [])
        part, cells = call.key.append, call.cells.append
        for param, value in self._given(args, kwargs):
            # The commonest arguments here, for speed; the others in `_add`.
            kind = type(value)
            if value is None:
                part(None)
            elif param.kind == "tensor":
                cell = whole_cell(value) if kind in _TENSORS else None
                if cell is None:
                    _add_tensor(call, self.name, param, value)
                else:
                    part(cell.layout)
                    cells(cell)
            elif param.varies and kind in _SCALAR_TYPES:
                part(kind)
                call.scalars.append(value)
            elif (kind is bool and param.kind != "scalar") or (kind is int and param.kind == "size"):
                part(value)
            else:
                _add(call, self.name, param, value)
        key = tuple(call.key)
        entry = self.table.get(key, _MISSING)
        if entry is _MISSING:
            entry = self.table[key] = self._intern(self._bind(args, kwargs), call)
        if self.holds_numbers and isinstance(entry, Entry):
            check_numbers(self.name, call.scalars, entry.layout.dtype)
        return entry, call  # type: ignore[return-value]  # not _MISSING

    def _intern(self, full: list[Any], call: Call) -> Entry | None:
        if draws_numbers(self.op):
            return None  # no node draws numbers by itself
        rule = rule_for(self.name)
        outputs = rule(tuple(map(_for_rule, self.params, full))) if rule else meta.specs_of(self.op, full)
        if listening():
            emit(SpecMiss(where=source_line(here()), op=self.name, source="rule" if rule else "meta"))
        if outputs is None:
            return None
        template = _Template(self.name)
        args = tuple(template.arg(p, v) for p, v in zip(self.params, full, strict=True))
        layouts = tuple(None if o is None else layout_of(o.shape, o.dtype, o.stride) for o in outputs)
        return Entry(self.name, args, template.refs, tuple(template.scalars), layouts)


_overloads: dict[str, Overload] = {}
# Every intern table, to be emptied when what the rules answer changes.
tables: list[dict[Any, Any]] = []


def forget() -> None:
    """Ask the rules again from now on: the default dtype was changed."""
    for table in tables:
        table.clear()


def overload_of(op: torch._ops.OpOverload) -> Overload:
    """The one Overload of an operator."""
    name = str(op)
    found = _overloads.get(name)
    if found is None:
        found = _overloads[name] = Overload(op)
    return found


@functools.cache
def named(name: str) -> Overload:
    """The Overload of this full name ("aten.add.Tensor")."""
    namespace, base, kind = name.split(".")
    return overload_of(getattr(getattr(getattr(torch.ops, namespace), base), kind))


def op(name: str, *args: Any, **kwargs: Any) -> Cell:
    """Record an op of one result on tensors, cells and numbers."""
    cell = named(name).call(*args, **kwargs)[0]
    assert cell is not None
    return cell


def _param(op_name: str, argument: torch._C.Argument) -> Param:
    default = argument.default_value if argument.has_default_value() else None
    kind = argument_class(argument, op_name)
    varies = kind in ("scalar", "tensor") and not any(structural_scalar(op_name, argument.name, n) for n in _PROBES)
    return Param(argument.name, kind, default, argument.name in _IGNORED, varies)


def _add(call: Call, op: str, param: Param, value: Any) -> None:
    """One argument's part of the key."""
    kind = param.kind
    if kind == "tensor":
        _add_tensor(call, op, param, value)
    elif param.name == "device":
        check_device(value)
    elif kind == "scalar" and not is_structural(op, param.name, value):
        call.key.append(type(value))
        call.scalars.append(value)
    elif type(value) is list:
        call.key.append(_frozen(value))
    else:
        call.key += (type(value), value)


def _add_tensor(call: Call, op: str, param: Param, value: Any) -> None:
    if value is None:
        call.key.append(None)
    elif isinstance(value, (Tensor, Cell)):
        call.whole = False
        call.key.append(operand_layout(value))
        call.cells.append(operand(value, op, param.name))
    elif isinstance(value, (list, tuple)):
        call.key.append(len(value))
        for v in value:
            _add_tensor(call, op, param, v)
    elif is_structural(op, param.name, value):
        call.key += (type(value), value)
    else:
        call.key.append(type(value))
        call.scalars.append(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _for_rule(param: Param, value: Any) -> Any:
    """An argument as the spec rules take it."""
    if param.kind != "tensor" or value is None:
        return _frozen(value)
    if isinstance(value, (list, tuple)):
        return tuple(_for_rule(param, v) for v in value)
    if isinstance(value, (Tensor, Cell)):
        layout = operand_layout(value)
        return Meta(tuple(layout.shape), layout.dtype, layout.stride)
    return Meta((), torch.result_type(value, value), None, True)


class _Template:
    """Builds an Entry's template, numbering operands and scalars in the order of `_add`."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.refs = 0
        self.scalars: list[str] = []

    def arg(self, param: Param, value: Any) -> Arg:
        if param.ignored:
            return None
        if param.kind == "tensor":
            return self._tensor(param, value)
        if param.kind == "scalar" and not structural_scalar(self.op, param.name, value):
            return self._scalar(value)
        return _constant(value, param.kind == "size")

    def _tensor(self, param: Param, value: Any) -> Arg:
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return tuple(self._tensor(param, v) for v in value)
        if isinstance(value, (Tensor, Cell)):
            self.refs += 1
            return Ref(self.refs - 1)
        return _constant(value, False) if structural_scalar(self.op, param.name, value) else self._scalar(value)

    def _scalar(self, value: Scalar) -> ScalarRef:
        self.scalars.append(_SCALAR_TYPES[type(value)])
        return ScalarRef(len(self.scalars) - 1)


def _constant(value: Any, is_size: bool) -> Arg:
    if isinstance(value, (list, tuple)):
        return tuple(_constant(v, is_size) for v in value)
    if isinstance(value, torch.dtype):
        return DTYPES[value]
    if is_size and type(value) is int:
        return Size(value)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise UnsupportedError(f"an argument of type {type(value).__name__} can't be recorded")
