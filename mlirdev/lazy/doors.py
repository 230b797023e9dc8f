"""The two ops that make the first device tensor out of none, as doors to the real ones: all that is registered
until then. Light, as `import torch` hangs them."""

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
