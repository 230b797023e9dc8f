"""An op that must run now, on the CPU: its results' shapes can't be known before (decision 14).

Everything pending is launched, the operands are copied to the host, PyTorch runs the op there, and what
it returns or writes is copied back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.errors import UnsupportedError
from mlirdev.events import Fallback, emit
from mlirdev.guards import check_fallback
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.storage import DEVICE_TYPE, new_tensor, read, write

_REASONS = {
    "data_dependent": "the size of what it returns depends on values",
    "no_rule": "nothing tells the size of what it returns",
    "no_lowering": "only a CPU kernel of it is known",
}


def run_on_cpu(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], cause: str) -> Any:
    """What `op` returns for these arguments, computed by PyTorch on the CPU; device tensors in, device tensors out."""
    report(str(op), cause)
    copies: dict[int, tuple[Tensor, Tensor]] = {}
    cpu_args = [_to_cpu(a, copies) for a in args]
    cpu_kwargs = {name: _to_cpu(value, copies) for name, value in kwargs.items()}
    if "device" in cpu_kwargs:
        cpu_kwargs["device"] = torch.device("cpu")
    with torch._C._AutoDispatchBelowAutograd():
        answer = op(*cpu_args, **cpu_kwargs)
    if op._schema.is_mutable:
        for argument, value in _written(op, args, kwargs):
            _write_back(argument, copies[id(value)])
    originals = {id(cpu): ours for ours, cpu in copies.values()}
    return _to_device(answer, originals)


def report(op: str, cause: str) -> None:
    """Warn, or raise where fallbacks are forbidden, then tell that `op` runs on the CPU; to be called before it."""
    where = source_line(here())
    check_fallback(op, _REASONS[cause], where, cause)
    emit(Fallback(where=where, op=op, cause=cause, reason=_REASONS[cause]))


def _to_cpu(value: Any, copies: dict[int, tuple[Tensor, Tensor]]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_to_cpu(v, copies) for v in value)
    if not isinstance(value, Tensor) or value.device.type != DEVICE_TYPE:
        return value
    if id(value) not in copies:
        copies[id(value)] = value, _with_strides(download(read(value), "data_dependent"), value)
    return copies[id(value)][1]


def _with_strides(cpu: Tensor, like: Tensor) -> Tensor:
    """The same values in memory as `like` has them, since results' strides follow from it."""
    if cpu.stride() == like.stride() or not torch._prims_common.is_non_overlapping_and_dense_or_false(like):
        return cpu
    return torch.empty_strided(like.shape, like.stride(), dtype=cpu.dtype).copy_(cpu)


def _written(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[Tensor, Tensor]]:
    """The tensors that the call writes."""
    tensors: list[Any] = []
    for i, argument in enumerate(op._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        tensors += value if isinstance(value, (list, tuple)) else [value]
    return [(t, t) for t in tensors if isinstance(t, Tensor) and t.device.type == DEVICE_TYPE]


def _write_back(tensor: Tensor, copy: tuple[Tensor, Tensor]) -> None:
    cpu = copy[1]
    if tensor.shape != cpu.shape:
        tensor.resize_(cpu.shape)
    write(tensor, upload(cpu))


def _to_device(answer: Any, originals: Mapping[int, Tensor]) -> Any:
    if isinstance(answer, (list, tuple)):
        return type(answer)(_to_device(a, originals) for a in answer)
    if not isinstance(answer, Tensor):
        return answer
    if id(answer) in originals:
        return originals[id(answer)]
    if answer.layout != torch.strided:
        raise UnsupportedError(f"device {DEVICE_TYPE} has no {answer.layout} tensors; make them on the CPU")
    return from_cpu(answer)


def from_cpu(cpu: Tensor) -> Tensor:
    """A device tensor with a CPU tensor's contents and, where its memory is dense, strides."""
    cell = upload(cpu)
    if torch._prims_common.is_non_overlapping_and_dense_or_false(cpu):
        cell.layout = layout_of(cpu.shape, cpu.dtype, cpu.stride())
    return new_tensor(cell)
