"""Helpers: run a kernel's LLVM IR on numpy arrays, and elementwise kernels written round one call."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from mlirdev.dtypes import DType
from mlirdev.jit import Kernel, emit_object, link, resolve_target, runall_address
from mlirdev.plan import BufferParam, DimParam, Signature
from mlirdev.target import Target, load_target

RUNALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


_targets = [resolve_target(load_target("host"))]


def host() -> Target:
    """What kernels are built for: this machine, or what `use_target` says."""
    return _targets[-1]


@contextlib.contextmanager
def use_target(target: Target) -> Iterator[None]:
    _targets.append(target)
    yield
    _targets.pop()


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy whose data is 64-byte aligned."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def build(text: str, signature: Signature, symbol: str = "entry", target: Target | None = None) -> Kernel:
    return link({symbol: emit_object(text, signature, symbol, target or host())})[symbol]


def call(kernel: Kernel, args: Sequence[np.ndarray], error: np.ndarray, workspace: int = 0, threads: int = 1) -> None:
    """Run a kernel on arrays (0-d ones for scalars and dims)."""
    scratch = aligned(np.zeros(workspace + 1, np.uint8))
    count = np.array(threads, np.int64)
    packed = (ctypes.c_void_p * (3 + len(args)))(*(a.ctypes.data for a in (error, count, scratch, *args)))
    functions = (ctypes.c_void_p * 1)(kernel.address)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(packed))
    RUNALL(runall_address())(functions, arguments, 1)


MEMREF = "ptr %{0}b, ptr %{0}, i64 %{0}o, i64 %{0}n, i64 %{0}s"

LOOP = """
declare {result} @{callee}({params})

define void @kernel({error}, i64 %thread, i64 %threads, {workspace}, i64 %n, {buffers}, {y}) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{loads}
  %value = call {result} @{callee}({values})
  %py = getelementptr inbounds {result}, ptr %y, i64 %i
  store {result} %value, ptr %py
  %j = add nuw nsw i64 %i, {step}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""

LOAD = "  %p{0} = getelementptr inbounds {1}, ptr %{0}, i64 %i\n  %v{0} = load {1}, ptr %p{0}"

KINDS = {"float": DType.f32, "double": DType.f64, "half": DType.f16, "i32": DType.i32, "bfloat": DType.bf16}


def elementwise_text(callee: str, kinds: Sequence[str], lanes: int = 0) -> str:
    """A kernel (n, x0, x1…) -> y with y[i] = callee(x0[i], x1[i]…). With lanes it calls on vectors, unaligned."""

    def typ(kind: str) -> str:
        return f"<{lanes} x {kind}>" if lanes else kind

    names = [f"x{i}" for i in range(len(kinds))]
    text = LOOP.format(
        callee=callee,
        result=typ(kinds[0]),
        params=", ".join(map(typ, kinds)),
        error=MEMREF.format("error"),
        workspace=MEMREF.format("workspace"),
        buffers=", ".join(MEMREF.format(n) for n in names),
        y=MEMREF.format("y"),
        loads="\n".join(LOAD.format(n, typ(k)) for n, k in zip(names, kinds, strict=True)),
        values=", ".join(f"{typ(k)} %v{n}" for n, k in zip(names, kinds, strict=True)),
        step=lanes or 1,
    )
    # Pointers step by elements, loads and stores take whole vectors.
    text = re.sub(r"getelementptr inbounds <\d+ x (\w+)>", r"getelementptr inbounds \1", text)
    return re.sub(r"((?:load|store) <[^\n]*)", r"\1, align 4", text)


@cache
def elementwise(callee: str, kinds: tuple[str, ...], lanes: int, target: Target) -> Kernel:
    buffers = [BufferParam((None,), KINDS[k]) for k in kinds]
    signature = Signature((DimParam(), *buffers), (BufferParam((None,), KINDS[kinds[0]]),), (0,) * (len(kinds) + 1))
    return build(elementwise_text(callee, kinds, lanes), signature, target=target)


def apply(callee: str, kinds: Sequence[str], *arrays: np.ndarray, lanes: int = 0) -> np.ndarray:
    """callee on the elements of 1-d arrays."""
    buffers = [aligned(a) for a in arrays]
    result = aligned(np.empty_like(arrays[0]))
    error = aligned(np.zeros(4, np.int64))
    n = np.array(len(arrays[0]), np.int64)
    call(elementwise(callee, tuple(kinds), lanes, host()), [n, *buffers, result], error)
    return result
