"""Output specs from PyTorch's Meta kernels: for the ops that have no rule of ours, once per signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.host import flat
from mlirdev.lazy.specs import OutSpec
from mlirdev.lazy.storage import DEVICE_TYPE


def specs_of(op: torch._ops.OpOverload, full: Sequence[Any]) -> tuple[OutSpec, ...] | None:
    """What the op would return for these arguments (in schema order), or None if only running it tells."""
    args, kwargs = [], {}
    for argument, value in zip(op._schema.arguments, full, strict=True):
        value = torch.device("meta") if argument.name == "device" else _map(value)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    try:
        with torch._C._AutoDispatchBelowAutograd():
            answer = flat(op(*args, **kwargs))
    except Exception:
        # No Meta kernel, a data-dependent shape, or wrong arguments: the CPU kernel will say which.
        return None
    if any(t is None for t in answer):
        return None
    return tuple(_spec(t) for t in answer if t is not None)


def _map(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.device.type != DEVICE_TYPE:
            return value if value.dim() == 0 else torch.empty_like(value, device="meta")
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return [_map(v) for v in value] if isinstance(value, (list, tuple)) else value


def _spec(tensor: Tensor) -> OutSpec:
    dense = torch._prims_common.is_non_overlapping_and_dense_or_false(tensor)
    return OutSpec(tuple(tensor.shape), tensor.dtype, tuple(tensor.stride()) if dense else None)
