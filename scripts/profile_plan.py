#!/usr/bin/env python3
"""Where the device's time goes, kernel by kernel: scripts/profile_plan.py FILE:FUNCTION [--calls 5] [--text KEY]

FUNCTION takes nothing and returns a step, a function of no arguments that is called several times. Each launch is
timed by itself in processor time, the fastest of the calls counts, and a row sums a kernel's launches over one call.
GFLOP counts the multiply-adds of its contractions; GB its buffers, each once.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch_mlir import ir

from mlirdev.compiler import executables
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.fingerprint import kernel_key
from mlirdev.compiler.stages import Front, front
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.lower import kernel_context, parse
from mlirdev.passes.ops import named
from mlirdev.passes.runner import run_pipeline
from mlirdev.plan import BufferParam, Launch
from mlirdev.runtime import timeline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", metavar="FILE:FUNCTION")
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--text", metavar="KEY", help="print the kernel whose key starts so")
    args = parser.parse_args()
    torch.set_num_threads(1)
    step = load(args.where)()
    times, wall = measure(step, args.calls)
    sources = dict(kernels())
    if args.text:
        print(next(source.text for key, source in sources.items() if key.startswith(args.text)))
        return
    show(times, sources, args, wall)


def load(where: str) -> Callable[[], Callable[[], Any]]:
    file, _, function = where.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, function)  # type: ignore[no-any-return]


def measure(step: Callable[[], Any], calls: int) -> tuple[dict[str, list[int]], float]:
    """Processor nanoseconds of every launch by kernel, and the seconds of the fastest call without a listener."""
    times: defaultdict[str, list[int]] = defaultdict(list)

    def listen(ran: timeline.LaunchRan) -> None:
        key = ran.launch.kernel if isinstance(ran.launch, Launch) else f"host n{ran.launch.node}"
        times[key].append(ran.cpu)

    wall = math.inf
    for number in range(calls + 3):
        start = time.perf_counter()
        kept = step()  # else nothing would be computed
        torch.mlirdev.synchronize()  # type: ignore[attr-defined]
        wall = min(wall, time.perf_counter() - start) if number >= 3 else wall
    stop = timeline.subscribe(listen)
    for _ in range(calls):
        kept = step()
        torch.mlirdev.synchronize()  # type: ignore[attr-defined]
    del kept
    stop()
    return times, wall


def kernels() -> Iterator[tuple[str, KernelSource]]:
    """The sources of all kernels of this process's graphs, by the key that plans know them by."""
    target = chosen_target()
    for graph in (graph for cache in executables._graphs.values() for graph in cache.latest()):
        formed = front(graph, target)
        if isinstance(formed, Front):
            yield from ((kernel_key(key, s.kind, target), s) for key, s in formed.kernels.items())


def show(times: dict[str, list[int]], sources: dict[str, KernelSource], args: argparse.Namespace, wall: float) -> None:
    best = {key: fastest(spans, args.calls) for key, spans in times.items()}
    total = sum(best.values())
    launches = sum(map(len, times.values())) // args.calls
    print(f"a call: {1e3 * wall:.2f} ms; its launches one by one: {total:.2f} ms, {launches} of {len(times)} kernels")
    print(f"{'kernel':<9}{'kind':<13}{'count':>6}{'ms':>9}{'share':>7}{'GF/s':>8}{'GB/s':>7}  what")
    for key, ms in sorted(best.items(), key=lambda item: -item[1])[: args.top]:
        count = len(times[key]) // args.calls
        kind, flops, nbytes, what = describe(sources[key]) if key in sources else ("", 0, 0, "")
        rates = (rate * count / ms / 1e6 for rate in (flops, nbytes))
        share = 100 * ms / total
        print(f"{key[:8]:<9}{kind:<13}{count:>6}{ms:>9.3f}{share:>6.1f}%{'{:>8.1f}{:>7.1f}'.format(*rates)}  {what}")


def fastest(spans: list[int], calls: int) -> float:
    """Milliseconds of a kernel's launches in one call, each the fastest of all calls."""
    count = len(spans) // calls
    return sum(min(spans[i::count]) for i in range(count)) / 1e6


def describe(source: KernelSource) -> tuple[str, int, int, str]:
    """Kind, floating-point operations, bytes, and the shapes of its buffers and of its loops with reductions."""
    buffers = [p for p in (*source.signature.params, *source.signature.results) if isinstance(p, BufferParam)]
    nbytes = sum(math.prod(d or 0 for d in b.shape) * b.dtype.itemsize for b in buffers)
    work, loops = 0, []
    with kernel_context(), ir.Location.unknown():
        module = parse(source.text)
        run_pipeline(module, "builtin.module(func.func(linalg-generalize-named-ops))", chosen_target())
        for op in named(module, "linalg.generic"):
            extents = loop_extents(op)
            reduced = ["reduction" in str(a) for a in op.attributes["iterator_types"]]
            if any(reduced):
                loops.append(",".join(f"{e}r" if r else str(e) for e, r in zip(extents, reduced, strict=True)))
                body = [view.operation.name for view in op.regions[0].blocks[0].operations]
                work += 2 * math.prod(extents) if "arith.mulf" in body else 0
    shapes = " ".join("x".join(map(str, b.shape)) for b in buffers)
    return source.kind, work, nbytes, f"{f'[{chr(32).join(loops)}] ' if loops else ''}{shapes}"[:150]


def loop_extents(op: Any) -> list[int]:
    """How often each loop of a linalg.generic runs, 0 where that is known at run time only."""
    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    found = [0] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        for position, expr in enumerate(map_.results):
            if isinstance(expr, ir.AffineDimExpr):
                found[expr.position] = max(operand.type.shape[position], 0)
    return found


if __name__ == "__main__":
    main()
