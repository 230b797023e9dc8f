"""What makes the first device tensor out of none, as doors to the real ones: two ops, and `UntypedStorage(device=…)`,
which crashes in PyTorch's own code. All that is registered until then. Light, as `import torch` hangs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_doors: list[torch.library.Library] = []


def hang() -> None:
    """Register the doors."""
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for op in (torch.ops.aten.empty.memory_format, torch.ops.aten.empty_strided.default):
        library.impl(op, _door(op), "PrivateUse1")  # type: ignore[no-untyped-call]
    _doors.append(library)
    torch.UntypedStorage.__new__ = staticmethod(_new_storage)  # type: ignore[method-assign]


def take_down() -> None:
    """Make room for the real ones."""
    while _doors:
        _doors.pop()._destroy()  # type: ignore[no-untyped-call]


def _door(op: Callable[..., Any]) -> Callable[..., Any]:
    def first(*args: Any, **kwargs: Any) -> Any:
        from mlirdev.lazy import setup

        setup.ensure()
        return op(*args, **kwargs)

    return first


_original_new: Callable[..., Any] = torch.UntypedStorage.__new__


def _new_storage(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """`UntypedStorage.__new__`, which hands every other device to the original. This door stays."""
    if device is None:
        return _original_new(cls, *args, **kwargs)
    if torch.device(device).type != "mlirdev":
        return _original_new(cls, *args, device=device, **kwargs)
    from mlirdev.lazy import setup, storage_methods

    setup.ensure()
    return storage_methods.create(*args)
