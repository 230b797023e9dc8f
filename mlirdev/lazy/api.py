"""What users call on the recording itself: `mlirdev.sync`, `mlirdev.eager`, `mlirdev.register_lowering`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from mlirdev.lazy import setup
from mlirdev.lazy.flush import flush_stream
from mlirdev.lazy.trace import current_stream
from mlirdev.options import options

# Libraries of registered lowerings: torch drops what a collected library registered.
_libraries: list[torch.library.Library] = []


def sync() -> None:
    """Launch what is pending on the current stream, and return at once; `torch.mlirdev.synchronize()` also waits."""
    setup.ensure()
    flush_stream(current_stream(), "sync")


def eager() -> contextlib.AbstractContextManager[None]:
    """Inside, each op is compiled and launched when it is called; nothing is recorded for later."""
    return options.override(mode="eager")


def register_lowering(name: str, decomposition: Callable[..., Any]) -> None:
    """Make a custom op native: on device tensors `lib::op` runs `decomposition`, whose PyTorch ops are recorded.

    `name` is "lib::op" or "lib::op.overload", defined by `torch.library.custom_op` or a Library; the function takes
    the op's arguments. Raises ValueError for an op that isn't defined.
    """
    setup.ensure()
    namespace, separator, op = name.partition("::")
    if not separator or not hasattr(getattr(torch.ops, namespace), op.partition(".")[0]):
        raise ValueError(f"no op '{name}'; define it first with torch.library.custom_op, and name it as \"lib::op\"")
    library = torch.library.Library(namespace, "IMPL")  # type: ignore[no-untyped-call]
    library.impl(op, decomposition, "PrivateUse1")  # type: ignore[no-untyped-call]
    _libraries.append(library)
