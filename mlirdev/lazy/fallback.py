"""An op that must run now, on the CPU: its results' shapes can't be known before (decision 14), or it writes what
it reads in an order that only the CPU's kernel has (overlap.py).

Everything pending is launched, the operands are copied to the host, PyTorch runs the op there, and what
it returns or writes is copied back. Tensors that share a storage with one that is written share it there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.errors import UnsupportedError
from mlirdev.events import Fallback, emit
from mlirdev.guards import check_fallback
from mlirdev.lazy import views
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.overlap import order_matters, tensors_in
from mlirdev.lazy.resizing import set_bytes
from mlirdev.lazy.storage import DEVICE_TYPE, cell_of, new_tensor, offset_of, read, span, write
from mlirdev.lazy.trace import Cell

_REASONS = {
    "data_dependent": "the size of what it returns depends on values",
    "no_rule": "nothing tells the size of what it returns",
    "no_lowering": "only a CPU kernel of it is known",
    "overlap": "it writes memory that it also reads, or writes it twice, so that the order matters",
}


def run_on_cpu(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], cause: str) -> Any:
    """What `op` returns for these arguments, computed by PyTorch on the CPU; device tensors in, device tensors out."""
    report(str(op), cause)
    written = _written(op, args, kwargs) if op._schema.is_mutable else []
    copies = _Copies(_shared(written, (*args, *kwargs.values())))
    cpu_args = [copies.of(a) for a in args]
    cpu_kwargs = {name: copies.of(value) for name, value in kwargs.items()}
    if "device" in cpu_kwargs:
        cpu_kwargs["device"] = torch.device("cpu")
    with torch._C._AutoDispatchBelowAutograd():
        answer = op(*cpu_args, **cpu_kwargs)
    copies.write_back(written)
    originals = {id(cpu): ours for ours, cpu in copies.made.values()}
    return _to_device(answer, originals)


def _shared(written: Sequence[Tensor], values: Sequence[Any]) -> set[Cell]:
    """The storages of written tensors that another argument, or another element, looks at too."""
    cells = [cell_of(t) for t in tensors_in(values) if t.device.type == DEVICE_TYPE]
    return {cell_of(t) for t in written if cells.count(cell_of(t)) > 1 or order_matters([t], ())}


def report(op: str, cause: str) -> None:
    """Warn, or raise where fallbacks are forbidden, then tell that `op` runs on the CPU; to be called before it."""
    where = source_line(here())
    check_fallback(op, _REASONS[cause], where, cause)
    emit(Fallback(where=where, op=op, cause=cause, reason=_REASONS[cause]))


class _Copies:
    """The arguments on the CPU: a copy of each tensor, or of the whole storage where one is shared and written."""

    def __init__(self, shared: set[Cell]) -> None:
        self.made: dict[int, tuple[Tensor, Tensor]] = {}  # by the tensor's id: it, its copy
        self.storages: dict[Cell, Tensor | None] = dict.fromkeys(shared)  # their bytes

    def of(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(v) for v in value)
        if not isinstance(value, Tensor) or value.device.type != DEVICE_TYPE:
            return value
        if id(value) not in self.made:
            self.made[id(value)] = value, self._copy(value)
        return self.made[id(value)][1]

    def _copy(self, tensor: Tensor) -> Tensor:
        cell = cell_of(tensor)
        if cell not in self.storages:
            return _with_strides(download(read(tensor), "data_dependent"), tensor)
        content = self.storages[cell]
        if content is None:
            content = self.storages[cell] = self._content(cell, tensor)
        copy = torch.empty(0, dtype=tensor.dtype)
        copy.set_(content.untyped_storage(), offset_of(tensor), tensor.shape, tensor.stride())
        copy = copy.conj() if tensor.is_conj() else copy
        return torch._neg_view(copy) if tensor.is_neg() else copy

    def _content(self, cell: Cell, tensor: Tensor) -> Tensor:
        """The storage's bytes, and room behind them: kernels that don't look at strides may write as many elements
        as the tensor has one after another."""
        content = download(views.in_bytes(cell), "data_dependent")
        room = torch.zeros(offset_of(tensor) * tensor.itemsize + tensor.nbytes, dtype=torch.uint8)
        return torch.cat([content, room])

    def write_back(self, written: Sequence[Tensor]) -> None:
        for tensor in written:
            cpu = self.made[id(tensor)][1]
            if tensor.shape != cpu.shape:
                tensor.resize_(cpu.shape)
                tensor.as_strided_(cpu.shape, cpu.stride())
            content = self.storages.get(cell_of(tensor))
            if content is None:
                write(tensor, upload(cpu))
            else:
                count = max(
                    cell_of(tensor).layout.nbytes, span(tuple(cpu.shape), cpu.stride(), offset_of(cpu)) * cpu.itemsize
                )
                whole = torch.empty(0, dtype=torch.uint8).set_(content.untyped_storage())
                set_bytes(cell_of(tensor), upload(whole[:count]))


def _with_strides(cpu: Tensor, like: Tensor) -> Tensor:
    """The same values in memory as `like` has them, since results' strides follow from it."""
    if cpu.stride() == like.stride() or not torch._prims_common.is_non_overlapping_and_dense_or_false(like):
        return cpu
    return torch.empty_strided(like.shape, like.stride(), dtype=cpu.dtype).copy_(cpu)


def _written(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tensor]:
    """The device tensors that the call writes."""
    tensors: list[Any] = []
    for i, argument in enumerate(op._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        tensors += value if isinstance(value, (list, tuple)) else [value]
    return [t for t in tensors if isinstance(t, Tensor) and t.device.type == DEVICE_TYPE]


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
