"""LLVM IR text → machine code; the only home of llvmlite.

resolve_target   Target with `native` filled in
emit_object      LLVM IR text → object bytes
link             object bytes → Kernels
runall_address   the native loop that runs kernels in order
stamp_address    a native clock that can stand among them
ObjectCache      bytes by key on disk, shared by processes
"""

from typing import TYPE_CHECKING, Any

from mlirdev.jit.clock import stamp_address
from mlirdev.jit.link import Kernel, link, runall_address
from mlirdev.jit.object_cache import ObjectCache
from mlirdev.jit.target import resolve_target
from mlirdev.jit.vendor import check_vendor

if TYPE_CHECKING:
    from mlirdev.jit.emit import emit_object

__all__ = [
    "Kernel",
    "ObjectCache",
    "check_vendor",
    "emit_object",
    "link",
    "resolve_target",
    "runall_address",
    "stamp_address",
]


def __getattr__(name: str) -> Any:
    """emit_object is imported when asked for: the user's process links what workers have emitted."""
    if name != "emit_object":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mlirdev.jit.emit import emit_object

    return emit_object
