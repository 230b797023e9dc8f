"""What this machine's processor can do at most, measured: `python -m mlirdev.jit.peaks THREADS` prints it as JSON.

    gflops   float32 multiply-adds, two operations each, on the widest vectors, nothing read from memory
    gbps     bytes copied, read and written both counted, between buffers that no cache holds

A process of its own, so that its threads and memory are gone afterwards. The best of several tries counts: what else
runs meanwhile can only make it slower.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import time
from collections.abc import Callable

from mlirdev.jit.link import link
from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.target import machine, resolve_target
from mlirdev.target import Target, load_target

# Independent multiply-adds in flight: more than latency × units of any processor so far.
_CHAINS = 16
_TURNS = 1 << 19
_COPIED = 128 << 20
_TRIES = 16


def measure(threads: int) -> dict[str, float]:
    """The peaks of so many threads together."""
    target = resolve_target(load_target("host"))
    lanes = max(target.llvm.vector_bits // 32, 1)
    compute, copy = _functions(target, lanes)
    share = _COPIED // threads // (4 * lanes) * (4 * lanes)
    buffers = [(_memory(share), _memory(share)) for _ in range(threads)]
    computing = _seconds([lambda: compute(_TURNS)] * threads)
    copying = _seconds([_copying(copy, to, source, share // (4 * lanes)) for to, source in buffers])
    return {
        "gflops": 2.0 * _CHAINS * lanes * _TURNS * threads / computing / 1e9,
        "gbps": 2.0 * share * threads / copying / 1e9,
    }


def _functions(target: Target, lanes: int) -> tuple[Callable[[int], float], Callable[[int, int, int], None]]:
    module = parse_assembly(_ir(lanes))
    code = machine(target).emit_object(module)
    kernels = [link({name: code})[name] for name in ("compute", "copy")]
    signatures = (
        ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64),
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64),
    )
    _kept.extend(kernels)
    return signatures[0](kernels[0].address), signatures[1](kernels[1].address)


_kept: list[object] = []


def _memory(nbytes: int) -> int:
    """The address of memory that lies on pages of its own, aligned for every vector."""
    block = ctypes.create_string_buffer(nbytes + 64)
    _kept.append(block)
    return -(-ctypes.addressof(block) // 64) * 64


def _copying(copy: Callable[[int, int, int], None], to: int, source: int, count: int) -> Callable[[], None]:
    return lambda: copy(to, source, count)


def _seconds(works: list[Callable[[], object]]) -> float:
    """The seconds of the fastest try, of all threads at the same time."""
    return min(_try(works) for _ in range(_TRIES))


def _try(works: list[Callable[[], object]]) -> float:
    threads = [threading.Thread(target=work) for work in works[1:]]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    works[0]()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def _ir(lanes: int) -> str:
    vector = f"<{lanes} x float>"
    chains = range(_CHAINS)
    phis = "\n".join(f"  %a{c} = phi {vector} [ zeroinitializer, %entry ], [ %b{c}, %loop ]" for c in chains)
    steps = "\n".join(
        f"  %b{c} = call {vector} @llvm.fma({vector} %a{c}, {vector} splat (float 0.5), {vector} splat (float {c}.0))"
        for c in chains
    )
    sums = "\n".join(f"  %s{c} = fadd {vector} {f'%s{c - 1}' if c else 'zeroinitializer'}, %b{c}" for c in chains)
    return f"""
declare {vector} @llvm.fma({vector}, {vector}, {vector})

define float @compute(i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
{sums}
  %first = extractelement {vector} %s{_CHAINS - 1}, i64 0
  ret float %first
}}

define void @copy(ptr %to, ptr %from, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %read = getelementptr {vector}, ptr %from, i64 %i
  %write = getelementptr {vector}, ptr %to, i64 %i
  %value = load {vector}, ptr %read, align {4 * lanes}
  store {vector} %value, ptr %write, align {4 * lanes}, !nontemporal !0
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}

!0 = !{{i32 1}}
"""


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
