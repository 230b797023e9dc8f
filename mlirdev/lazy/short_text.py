"""The Python text of an overload's short way, made from its schema; quick.py compiles and runs it.

    def short(p0, p1, *, alpha=d2):     # aten.add.Tensor
        each argument  ─► its part of the key, its operand (cell and view) or its run-time number
        the key        ─► the Entry, met before; else learn(…), or MISS: the long way
        each operand   ─► its number in the trace
        new results    ─► one atomic step: code, numbers, log  (trace.py says why it holds no call)

Straight-line text spares what costs most here: loops, calls, and lists of what one call gave. A schema that has
arguments of other kinds (generators, names, lists of numbers that may vary) gets no text.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

import torch

from mlirdev.lazy.overloads import Overload, Param
from mlirdev.lazy.specs.arguments import structural_scalar

_PLAIN = ("int", "SymInt", "bool", "float", "str", "ScalarType", "Layout", "Device", "MemoryFormat")
_LISTS = ("int", "SymInt", "bool", "float")

# What the text calls, given by quick.py, and its own names: a keyword argument can't be called so.
_TAKEN = frozenset({
    "MISS", "NUMBERS", "at", "cell", "check_numbers", "code", "current_trace", "enter", "entry", "forward", "frame",
    "getframe", "is_grad_enabled", "is_structural", "is_user_file", "key", "learn", "log", "new_result", "number",
    "op_name", "recorder", "reference", "scalars", "sequence_number", "table", "tensor", "trace", "view", "viewed",
    "where_of", "whole_cell", "words",
})  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """A schema argument in the text: `argument` is its name, `name` what the text calls it, `i` its number."""

    i: int
    argument: str
    name: str
    type: str
    is_list: bool
    optional: bool
    keyword: bool
    default: bool  # has it one? d{i} is its value
    is_structure: bool  # and is that a number that is part of the graph?
    param: Param | None  # as the node takes it; None for a destination (out=)

    @property
    def may_be_number(self) -> bool:
        """PyTorch gives a number that stands for a tensor as it is; the first tensor never is one."""
        return self.i > 0 and not (self.is_list or self.optional or self.param is None)

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Optional[Tensor]")


def arguments_of(schema: torch._C.FunctionSchema, functional: Overload) -> list[Argument] | None:
    """The arguments as the text takes them; None if some are of another kind. `functional` has the node's."""
    found = [_argument(i, a, functional) for i, a in enumerate(schema.arguments)]
    return None if None in found else found  # type: ignore[return-value]


def _argument(i: int, argument: torch._C.Argument, functional: Overload) -> Argument | None:
    kind, optional = _without(str(argument.real_type), "Optional")
    kind, is_list = _without(kind, "List")
    usual = (*_LISTS, "Tensor", "Optional[Tensor]") if is_list else (*_PLAIN, "number", "Tensor")
    name = argument.name if argument.kwarg_only else f"p{i}"
    if kind not in usual or keyword.iskeyword(name) or name in _TAKEN:
        return None
    place = functional.positions.get(argument.name)
    param = None if place is None else functional.params[place]
    return Argument(
        i,
        argument.name,
        name,
        kind,
        is_list,
        optional,
        keyword=argument.kwarg_only,
        default=argument.has_default_value(),
        is_structure=kind == "number" and param is not None and _is_structure(functional.name, param),
        param=param,
    )


def _is_structure(op: str, param: Param) -> bool:
    return param.default is not None and structural_scalar(op, param.name, param.default)


def _without(kind: str, outer: str) -> tuple[str, bool]:
    """A schema's type without an outer one, and whether it had that."""
    inner = kind.removeprefix(f"{outer}[")
    return (inner.removesuffix("]"), True) if inner != kind else (kind, False)


def text_of(arguments: Sequence[Argument], results: int, target: Argument | None, holds_numbers: bool) -> str:
    """The text of a function `short` for a schema of so many results, or of one that is written to `target`."""
    inputs = [a for a in arguments if a.param is not None]
    body = ["scalars = ()"]
    body += [_part_of_key(a) for a in arguments]
    if target is not None:
        body.append(_target_is_usual(target, arguments))
    keys = ", ".join(f"k{a.i}" for a in arguments)
    given = ", ".join(a.name for a in inputs if not a.keyword)
    named = ", ".join(f"{a.name}={a.name}" for a in inputs if a.keyword)
    body.append(_LOOK_UP.format(keys=keys, given=f"({given},)" if given else "()", named=f"dict({named})"))
    if holds_numbers:
        body.append("check_numbers(op_name, scalars, entry.layout.dtype)")
    body += [_PLACE, *_operands([a for a in inputs if a.is_tensor])]
    body.append(_record(results) if target is None else _write(target))
    return f"def short({_parameters(arguments)}):\n" + indent("\n".join(body), "    ")


def _parameters(arguments: Sequence[Argument]) -> str:
    words = []
    for a in arguments:
        if a.keyword and "*" not in words:
            words.append("*")
        words.append(f"{a.name}=d{a.i}" if a.default else a.name)
    return ", ".join(words)


# --- parts of the key ----------------------------------------------------------------------------

_TENSOR = """\
c{i} = whole_cell({a})
if c{i} is not None:
    v{i} = None
    k{i} = c{i}.layout
else:
    c{i}, v{i} = viewed({a})
    if c{i} is None:
        return MISS
    k{i} = v{i}.layout"""

_TENSORS = """\
c{i}, k{i} = [], []
for tensor in {a}:
    cell, view = whole_cell(tensor), None
    if cell is None:
        cell, view = viewed(tensor)
        if cell is None:
            return MISS
    c{i} += ((cell, view),)
    k{i} += (cell.layout if view is None else view.layout,)
k{i} = tuple(k{i})"""

_VARYING = """\
k{i} = type({a})
scalars += ({a},)"""

# A number that is structure at some values; the default, if there is one, is looked at first.
_NUMBER = """\
if is_structural(op_name, "{name}", {a}):
    k{i} = type({a}), {a}
else:
    k{i} = type({a})
    scalars += ({a},)"""


def _part_of_key(a: Argument) -> str:
    """Sets k{i}, and for tensors c{i}, their cell, and v{i}, the View of it that they are, None if they are whole."""
    if a.is_tensor:
        text = _tensor_part(a)
        absent = f"c{a.i} = k{a.i} = None"
    else:
        text = _other_part(a)
        absent = f"k{a.i} = None"
    if a.optional:
        return f"if {a.name} is None:\n    {absent}\nelse:\n{indent(text, '    ')}"
    return text


def _tensor_part(a: Argument) -> str:
    if a.is_list:
        return _TENSORS.format(i=a.i, a=a.name)
    text = _TENSOR.format(i=a.i, a=a.name)
    if not a.may_be_number:
        return text
    number = _number_part(a)
    return f"if type({a.name}) in NUMBERS:\n    c{a.i} = None\n{indent(number, '    ')}\nelse:\n{indent(text, '    ')}"


def _other_part(a: Argument) -> str:
    param = a.param
    if a.is_list:
        return f"k{a.i} = tuple({a.name})"
    if param is not None and param.kind == "scalar":
        return f"if type({a.name}) not in NUMBERS:\n    return MISS\n{_number_part(a)}"
    # An int and the float equal to it are two keys.
    return f"k{a.i} = type({a.name}), {a.name}" if a.type == "number" else f"k{a.i} = {a.name}"


def _number_part(a: Argument) -> str:
    assert a.param is not None
    if a.param.varies:
        return _VARYING.format(i=a.i, a=a.name)
    text = _NUMBER.format(i=a.i, a=a.name, name=a.param.name)
    if not a.default or not a.is_structure:
        return text
    return f"if {a.name} is d{a.i}:\n    k{a.i} = d{a.i}\nelse:\n{indent(text, '    ')}"


def _target_is_usual(target: Argument, arguments: Sequence[Argument]) -> str:
    """The target is whole, and no view of it is read."""
    others = [a.i for a in arguments if a.is_tensor and a is not target]
    tests = [f"v{target.i} is not None", *(f"c{i} is c{target.i} and v{i} is not None" for i in others)]
    return f"if {' or '.join(tests)}:\n    return MISS"


_LOOK_UP = """\
key = ({keys},)
entry = table.get(key)
if not entry:
    entry = learn(key, {given}, {named}, scalars) if entry is None else None
    if entry is None:
        return MISS"""


# --- recording -----------------------------------------------------------------------------------

_PLACE = """\
trace = recorder.trace or current_trace()
frame = getframe(1).f_back
if frame is None or not is_user_file[frame.f_code.co_filename]:
    code, at = where_of(frame)
else:
    code, at = frame.f_code, frame.f_lasti"""

_OPERAND = """\
if v{i} is None:
    words += (c{i}.number if c{i}.trace is trace else enter(trace, c{i}),)
else:
    words += (v{i}.number(trace, c{i}, code, at),)"""

_OPERANDS = """\
for cell, view in c{i}:
    if view is None:
        words += (cell.number if cell.trace is trace else enter(trace, cell),)
    else:
        words += (view.number(trace, cell, code, at),)"""


def _operands(tensors: Sequence[Argument]) -> list[str]:
    """Sets `words`: the entry, and each operand's number in the trace."""
    lines = ["words = (entry,)"]
    for a in tensors:
        text = (_OPERANDS if a.is_list else _OPERAND).format(i=a.i)
        may_be_absent = a.optional or a.may_be_number
        lines.append(f"if c{a.i} is not None:\n{indent(text, '    ')}" if may_be_absent else text)
    return lines


_RECORDED = """\
if is_grad_enabled():
    forward[sequence_number() - 1] = (code, at, trace.stream)
if trace.count > trace.checkpoint:
    recorder.check(trace)"""

_ATOMIC = """\
{prepare}
# Atomic from here on: see trace.py.
if not trace.open:
    return MISS
number = trace.count
trace.count = number + {count}
trace.code += words
trace.scalars += scalars
trace.log += log
{assign}
# Until here.
{recorded}
return {returned}"""


def _record(results: int) -> str:
    numbers = range(results)
    prepare = [f"t{i}, r{i} = new_result(entry.outputs[{i}], trace)" for i in numbers]
    references = ", ".join(f"reference(r{i})" for i in numbers)
    prepare.append(f"log = (code, at, {references if results == 1 else f'({references})'})")
    return _ATOMIC.format(
        prepare="\n".join(prepare),
        count=results,
        assign="\n".join(f"r{i}.number = number + {i}" for i in numbers),
        recorded=_RECORDED,
        returned=", ".join(f"t{i}" for i in numbers),
    )


def _write(target: Argument) -> str:
    cell = f"c{target.i}"
    return _ATOMIC.format(
        prepare=f"log = (code, at, reference({cell}))",
        count=1,
        assign=f"{cell}.trace = trace\n{cell}.number = number\n{cell}.buffer = None",
        recorded=_RECORDED,
        returned=target.name,
    )
