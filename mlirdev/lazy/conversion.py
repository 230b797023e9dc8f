"""`module.to("mlirdev")` keeps each Parameter the same object, as `.cuda()` does.

PyTorch makes new Parameters where the kind of tensor changes, which unties tied weights and leaves an
optimizer that was made before with the old ones. Here a Parameter that moves to or from our device
takes over the converted tensor's content instead (`torch.utils.swap_tensors`). Installed by `import torch`, since the
first conversion of a program makes the first device tensor; light therefore.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

DEVICE_TYPE = "mlirdev"
Convert = Callable[[Tensor], Tensor]
_original: Any = Module._apply


def install() -> None:
    """Patch `torch.nn.Module._apply`; once."""
    if Module._apply is _original:
        Module._apply = _apply  # type: ignore[method-assign]


@functools.wraps(_original)
def _apply(self: Module, fn: Convert, recurse: bool = True) -> Any:
    if isinstance(fn, _KeepingIdentity):
        return _original(self, fn, recurse)
    return _original(self, _KeepingIdentity(fn), recurse)


class _KeepingIdentity:
    """`fn`, except that a Parameter which it moves to or from our device stays itself."""

    def __init__(self, fn: Convert) -> None:
        self.fn = fn

    def __call__(self, tensor: Tensor) -> Tensor:
        converted = self.fn(tensor)
        if type(tensor) is not Parameter or not _moves(tensor, converted) or weakref.getweakrefs(tensor):
            return converted
        grad, tensor.grad = tensor.grad, None
        moved = Parameter(converted, tensor.requires_grad)
        try:
            torch.utils.swap_tensors(tensor, moved)  # type: ignore[no-untyped-call]
        except RuntimeError:
            # A graph that isn't freed yet, or somebody's C++, holds the old content: PyTorch's own way then.
            tensor.grad = grad
            return converted
        if grad is not None:
            tensor.grad = self.fn(grad).requires_grad_(grad.requires_grad)
        return tensor


def _moves(before: Tensor, after: Tensor) -> bool:
    return (before.device.type == DEVICE_TYPE) != (after.device.type == DEVICE_TYPE)
