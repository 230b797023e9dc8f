"""A tensor argument as an operand: its cell, after the checks that eager PyTorch makes."""

from __future__ import annotations

import torch
from torch import Tensor

from mlirdev.graph import ScalarRef
from mlirdev.lazy.device import upload
from mlirdev.lazy.layouts import Layout, dtype_of, layout_of
from mlirdev.lazy.record import record
from mlirdev.lazy.storage import DEVICE_TYPE, read
from mlirdev.lazy.trace import Cell, Entry

# Ops whose `indices` may be CPU tensors of any size, as on CUDA: they are copied.
_TAKE_CPU_INDICES = ("aten.index.", "aten.index_put", "aten._index_put", "aten._unsafe_index")
_fills: dict[Layout, Entry] = {}


def check_device(device: torch.device | None) -> None:
    """Raise as eager does for a device that doesn't exist."""
    if device is not None and device.type == DEVICE_TYPE and device.index not in (None, 0):
        raise RuntimeError(f"invalid device ordinal {device.index}: there is one device, {DEVICE_TYPE}:0")


def operand_layout(value: Tensor | Cell) -> Layout:
    """The layout that an op's result follows from."""
    if isinstance(value, Cell):
        return value.layout
    return layout_of(value.shape, value.dtype, value.stride())


def operand(tensor: Tensor | Cell, op: str, name: str) -> Cell:
    """The cell of an argument. A 0-d CPU tensor is read now; any other CPU tensor is the user's mistake."""
    if isinstance(tensor, Cell):
        return tensor
    if not tensor.is_cpu and hasattr(tensor.untyped_storage(), "cell"):
        return read(tensor)
    if tensor.device.type == "cpu" and tensor.dim() == 0:
        return scalar_tensor(tensor)
    if tensor.device.type == "cpu" and name == "indices" and op.startswith(_TAKE_CPU_INDICES):
        return upload(tensor)
    raise RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{DEVICE_TYPE}:0 and {tensor.device}! (when checking argument {name} of {op}); "
        f'move the tensor with .to("{DEVICE_TYPE}") first'
    )


def scalar_tensor(tensor: Tensor) -> Cell:
    """A 0-d CPU tensor as a node that makes it from a scalar input, so that its value isn't in the key."""
    value = tensor.item()
    if isinstance(value, complex):
        return upload(tensor)
    layout = layout_of((), tensor.dtype)
    entry = _fills.get(layout)
    if entry is None:
        kind = type(value).__name__
        template = ((), ScalarRef(0), dtype_of(tensor.dtype), None, None, None)
        entry = _fills[layout] = Entry("aten.full.default", template, 0, (kind,), (layout,))
    return record(entry, (), (value,))[0]
