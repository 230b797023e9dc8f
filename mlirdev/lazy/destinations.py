"""Unusual destinations: what `out=` names and what in-place ops write, where eager may refuse it or lay it out anew.

Mostly an op writes a tensor of its result's own dtype and sizes. Where it doesn't, eager takes some and refuses
others, and resizes in its own way, by the rules of each kernel. So eager is asked: the op runs once on the CPU, on
numbers laid out the same. Its answer holds for all calls with these layouts. (Elements that share a place are
overlap.py's.)
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.overlap import tensors_in
from mlirdev.lazy.overloads import Overload
from mlirdev.lazy.storage import DEVICE_TYPE, cell_of, offset_of
from mlirdev.lazy.trace import Cell, Entry

Strides = tuple[int, ...]
Dims = tuple[Strides, Strides]  # sizes and strides
_answers: dict[Any, Exception | list[Dims]] = {}
# Where a result's dtype isn't given, these compute in that of the tensor they write: operands are cast before.
_COMPUTED_IN_PLACE = frozenset({"sum", "nansum", "mean", "nanmean", "prod", "cumsum", "cumprod"})


def dtype_for(overload: Overload, entry: Entry, kwargs: Mapping[str, Any], written: Sequence[Tensor]) -> dict[str, Any]:
    """The `dtype` argument that eager adds to a call that writes these tensors, if it adds one."""
    dtype = written[0].dtype
    if dtype is entry.layout.dtype or kwargs.get("dtype") is not None:
        return {}
    return {"dtype": dtype} if overload.name.split(".")[1] in _COMPUTED_IN_PLACE else {}


def agree_on_destinations(
    op: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    written: Sequence[Tensor],
    usual: Sequence[Layout],
    signature: Sequence[Any],
) -> Sequence[Strides | None]:
    """The strides that eager gives each of these destinations when it resizes them to the sizes of `usual`, the
    results' own layouts; None for those that it leaves as they are. Raises what eager raises.

    `signature` stands for the other arguments: calls that agree in it get one answer.
    """
    alike = all(t.dtype is u.dtype and t.shape == u.shape for t, u in zip(written, usual, strict=True))
    shared = (
        [i for i, a in enumerate(tensors_in(args)) if any(_is_same(a, t) for t in kwargs.values())] if kwargs else []
    )
    if alike and not shared:
        return [None] * len(written)
    places = [(t.dtype, tuple(t.shape), t.stride(), offset_of(t)) for t in written]
    key = (op, *usual, *places, *signature, *shared)
    if key not in _answers:
        _answers[key] = _ask(op, args, kwargs, written, usual)
    answer = _answers[key]
    if isinstance(answer, Exception):
        raise type(answer)(*answer.args)
    return [
        strides if sizes == layout.shape and target.shape != layout.shape else None
        for target, layout, (sizes, strides) in zip(written, usual, answer, strict=True)
    ]


def _is_same(operand: Tensor, out: object) -> bool:
    """Is this `out=` tensor the operand itself? (In part is overlap.py's matter.)"""
    return isinstance(out, Tensor) and operand.untyped_storage() is out.untyped_storage()


def _ask(
    op: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    written: Sequence[Tensor],
    usual: Sequence[Layout],
) -> Exception | list[Dims]:
    """What the destinations are after the call, or what eager raises for them and not for usual ones.

    Where it raises for those too, the numbers were at fault: it hasn't said anything.
    """
    targets = list(map(id, written))
    answer = _on_cpu(op, args, kwargs, targets, {})
    if not isinstance(answer, Exception):
        return answer
    apart = dict(zip(targets, usual, strict=True))
    otherwise = _on_cpu(op, args, kwargs, targets, apart)
    return [((), ())] * len(written) if isinstance(otherwise, Exception) else answer


def _on_cpu(
    op: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    targets: Sequence[int],
    apart: Mapping[int, Layout],
) -> Exception | list[Dims]:
    """Run the op on stand-ins, those of `apart` laid out so in memory of their own: the targets' sizes and strides
    after it, or what it raises."""
    memory: dict[Cell, Tensor] = {}
    stand_ins: dict[int, Tensor] = {}
    same: dict[int, Tensor] = {}

    def stand_in(value: Any, apart: Mapping[int, Layout] = apart) -> Any:
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if not isinstance(value, Tensor) or value.device.type != DEVICE_TYPE:
            return value
        layout = apart.get(id(value))
        if layout is not None:
            made = _numbers(layout.shape, layout.dtype)
        else:  # one for all places of a tensor: eager asks whether `out=` is the very operand
            made = same.setdefault(id(value), _laid_out(value, memory))
        stand_ins[id(value)] = made
        return made

    # Where the targets are named by `out=`, an operand that is one of them stays where it is; the targets' own
    # stand-ins come last, and are those that are kept.
    is_out = any(id(value) in targets for value in kwargs.values())
    cpu_args = tree_map(functools.partial(stand_in, apart={} if is_out else apart), tuple(args))
    cpu_kwargs = tree_map(stand_in, dict(kwargs))
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch._C._AutoDispatchBelowAutograd():
        warnings.simplefilter("ignore")
        try:
            op(*cpu_args, **cpu_kwargs)
        except Exception as error:
            return error.with_traceback(None)
    return [(tuple(t.shape), t.stride()) for t in (stand_ins[target] for target in targets)]


def _laid_out(tensor: Tensor, memory: dict[Cell, Tensor]) -> Tensor:
    """A CPU tensor that lies in its storage as this one does in its own."""
    cell = cell_of(tensor)
    if cell not in memory:
        layout = cell.layout
        # Kernels that don't look at strides may write as many elements as the tensor has one after another.
        room = layout.nbytes + offset_of(tensor) * tensor.itemsize + tensor.nbytes
        memory[cell] = _numbers((room // layout.dtype.itemsize + 1,), layout.dtype)
    looked_at = torch.empty(0, dtype=tensor.dtype)
    return looked_at.set_(memory[cell].untyped_storage(), offset_of(tensor), tensor.shape, tensor.stride())


def _numbers(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Ones, which few ops find fault with; zeros where they may be indices."""
    fill = torch.ones if dtype.is_floating_point or dtype.is_complex else torch.zeros
    return fill(tuple(shape), dtype=dtype)
