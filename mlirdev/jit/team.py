"""Teams of threads for kernels that are split, from the OpenMP runtime that the process has loaded: PyTorch brings one.

    entry ─► mlirdev_run_team(member, packed, count)
               └─► GOMP_parallel ─► member(packed, thread, threads), on every thread of the team
                                      └─► mlirdev_barrier()

All teams of the process share one budget, since streams run kernels at the same time: while others are at work, a
launch gets what they leave of its count, and at least the thread that it is on. Without an OpenMP runtime that is all
it gets.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from mlirdev.events import OneThread, emit
from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.target import machine, resolve_target
from mlirdev.plan import BARRIER
from mlirdev.target import load_target

RUN_TEAM = "mlirdev_run_team"
TEAM_SYMBOLS = frozenset({RUN_TEAM, BARRIER})
OPENMP_SYMBOLS = frozenset({"GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads"})

_TEAM = f"""
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_barrier()
declare i64 @llvm.smax.i64(i64, i64)

; How many threads are running kernels that are split.
@working = internal global i64 0, align 8

define void @{RUN_TEAM}(ptr %member, ptr %packed, i64 %count) {{
entry:
  %job = alloca [2 x ptr], align 8
  %packed_at = getelementptr inbounds ptr, ptr %job, i64 1
  store ptr %member, ptr %job
  store ptr %packed, ptr %packed_at
  br label %ask
ask:
  %others = load atomic i64, ptr @working monotonic, align 8
  %left = sub i64 %count, %others
  %size = call i64 @llvm.smax.i64(i64 %left, i64 1)
  %all = add i64 %others, %size
  %exchange = cmpxchg ptr @working, i64 %others, i64 %all monotonic monotonic
  %granted = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %granted, label %start, label %ask
start:
  %is_one = icmp eq i64 %size, 1
  br i1 %is_one, label %alone, label %team
alone:
  call void %member(ptr %packed, i64 0, i64 1)
  br label %done
team:
  %threads = trunc i64 %size to i32
  call void @GOMP_parallel(ptr @share, ptr %job, i32 %threads, i32 0)
  br label %done
done:
  %before = atomicrmw sub ptr @working, i64 %size monotonic
  ret void
}}

define internal void @share(ptr %job) {{
  %packed_at = getelementptr inbounds ptr, ptr %job, i64 1
  %member = load ptr, ptr %job
  %packed = load ptr, ptr %packed_at
  %number = call i32 @omp_get_thread_num()
  %count = call i32 @omp_get_num_threads()
  %thread = zext i32 %number to i64
  %threads = zext i32 %count to i64
  call void %member(ptr %packed, i64 %thread, i64 %threads)
  ret void
}}

define void @{BARRIER}() {{
  tail call void @GOMP_barrier()
  ret void
}}
"""

_ALONE = f"""
define void @{RUN_TEAM}(ptr %member, ptr %packed, i64 %count) {{
  call void %member(ptr %packed, i64 0, i64 1)
  ret void
}}

define void @{BARRIER}() {{
  ret void
}}
"""


def team_object() -> bytes:
    """The object that defines TEAM_SYMBOLS, for this machine; it needs OPENMP_SYMBOLS, if there are any."""
    text = _TEAM if openmp_symbols() else _ALONE
    module = parse_assembly(text)
    return bytes(machine(resolve_target(load_target("host"))).emit_object(module))


@cache
def openmp_symbols() -> dict[str, int]:
    """The addresses of the OpenMP runtime's functions that teams call; empty where the process has no runtime."""
    library = _loaded_openmp()
    if library is None:
        emit(OneThread(reason="no OpenMP runtime is loaded"))
        return {}
    _end_teams_at_fork(library)
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in OPENMP_SYMBOLS}


def _loaded_openmp() -> ctypes.CDLL | None:
    """The first OpenMP runtime, of those that the process has loaded, that knows GCC's entry points."""
    for path in _loaded_libraries():
        if re.match(r"lib(gomp|iomp5|omp)\b", os.path.basename(path)):
            library = ctypes.CDLL(path)
            if hasattr(library, "GOMP_parallel"):
                return library
    return None


class _LibraryInfo(ctypes.Structure):
    """The head of the C library's `dl_phdr_info`."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


def _loaded_libraries() -> list[str]:
    """The paths of the process's shared libraries, oldest first."""
    paths: list[str] = []

    def note(info: Any, size: int, data: Any) -> int:
        paths.append(os.fsdecode(info.contents.name or b""))
        return 0

    visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_LibraryInfo), ctypes.c_size_t, ctypes.c_void_p)
    iterate = getattr(ctypes.CDLL(None), "dl_iterate_phdr", None)
    if iterate is not None:
        iterate(visitor(note), None)
    return paths


def _end_teams_at_fork(library: ctypes.CDLL) -> None:
    """A forked child has none of the threads that wait for its next parallel loop, and would wait for them. So they end
    before a fork; the next loop starts them anew."""
    pause: Callable[[int], int] | None = getattr(library, "omp_pause_resource_all", None)
    if pause is not None and hasattr(os, "register_at_fork"):
        soft = 1
        os.register_at_fork(before=lambda: pause(soft))
