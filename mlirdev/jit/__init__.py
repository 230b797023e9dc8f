"""LLVM IR text → machine code; the only home of llvmlite.

resolve_target   Target with `native` filled in
emit_object      LLVM IR text → object bytes
link             object bytes → Kernels
runall_address   the native loop that runs kernels in order
stamp_address    a native clock that can stand among them
"""

from mlirdev.jit.clock import stamp_address
from mlirdev.jit.emit import emit_object
from mlirdev.jit.link import Kernel, link, runall_address
from mlirdev.jit.object_cache import ObjectCache
from mlirdev.jit.target import resolve_target

__all__ = ["Kernel", "ObjectCache", "emit_object", "link", "resolve_target", "runall_address", "stamp_address"]
