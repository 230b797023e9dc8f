#!/usr/bin/env python3
"""What an op costs on tensors so small that nothing else counts: recording on the device beside eager on the CPU.

`record` is the Python time until just before the wait, `total` includes the wait; both in µs per op, the medians of
interleaved rounds. After warm-up nothing may compile. The last row is a plan of many kernels beside a main thread that
is busy in Python.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

import mlirdev

Body = Callable[[int], Tensor]
DEVICE = "mlirdev"


def small(device: str, *shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def chain(device: str) -> Body:
    x, y = small(device, 4, 4), small(device, 4, 4, seed=1)

    def body(i: int) -> Tensor:
        z = x
        for _ in range(200):
            z = torch.tanh(torch.relu((z + y) * 0.5) - y)
        return z

    return body


def chain_backward(device: str) -> Body:
    x, y = small(device, 4, 4).requires_grad_(), small(device, 4, 4, seed=1)

    def body(i: int) -> Tensor:
        with torch.enable_grad():
            z = x
            for _ in range(100):
                z = torch.tanh(z + y) * 0.5
            (gradient,) = torch.autograd.grad(z.sum(), x)
        return gradient

    return body


def views(device: str) -> Body:
    x = small(device, 4, 8)

    def body(i: int) -> Tensor:
        v = x
        for _ in range(125):
            v = (
                v.t()
                .transpose(0, 1)
                .unsqueeze(0)
                .squeeze(0)
                .view(2, 2, 8)
                .permute(1, 0, 2)
                .permute(1, 0, 2)
                .reshape(4, 8)
            )
        return v + 1

    return body


def in_place(device: str) -> Body:
    x = small(device, 4, 4)

    def body(i: int) -> Tensor:
        z = x.clone()
        for _ in range(250):
            z.add_(1.0).mul_(0.5)
        return z

    return body


def changing_scalars(device: str) -> Body:
    x = small(device, 4, 4)

    def body(i: int) -> Tensor:
        z = x
        for k in range(100):
            z = z * (1.0 + 0.001 * (i + k))
        return z

    return body


def item(device: str) -> Body:
    x = small(device, 1)

    def body(i: int) -> Tensor:
        (x + 1.0).item()
        return x

    return body


# Name → (body maker, ops in one call).
CASES = {
    "chain of 1000": (chain, 1000),
    "chain, backward too": (chain_backward, 600),
    "views": (views, 1000),
    "in place": (in_place, 501),
    "changing scalars": (changing_scalars, 100),
    "one op and .item()": (item, 2),
}


def synchronize(device: str) -> None:
    if device == DEVICE:
        torch.mlirdev.synchronize()


def measure(
    make: Callable[[str], Body], ops: int, args: argparse.Namespace
) -> tuple[dict[str, list[float]], int, bool]:
    """Times per op by engine and phase, compiles after warm-up, and whether the values agree."""
    bodies = {device: make(device) for device in ("cpu", DEVICE)}
    times: dict[str, list[float]] = {"cpu": [], "record": [], "total": []}
    results, compiles = {}, 0
    for step in range(args.warmup + args.rounds):
        if step == args.warmup:
            compiles = mlirdev.metrics.snapshot()["compiles"]
        for device, body in bodies.items():
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            results[device] = body(step)
            recorded = time.perf_counter()
            synchronize(device)
            done = time.perf_counter()
            gc.enable()
            if step < args.warmup:
                continue
            if device == "cpu":
                times["cpu"].append((done - start) / ops)
            else:
                times["record"].append((recorded - start) / ops)
                times["total"].append((done - start) / ops)
    agree = torch.allclose(results[DEVICE].cpu(), results["cpu"], rtol=1e-4, atol=1e-5)
    return times, mlirdev.metrics.snapshot()["compiles"] - compiles, agree


def busy_thread(args: argparse.Namespace) -> tuple[float, float]:
    """Seconds of a plan of a hundred kernels, alone and beside a main thread that counts in Python."""
    x, w = small(DEVICE, 64, 64), small(DEVICE, 64, 64, seed=1)

    def timed(busy: bool) -> float:
        z = x
        for _ in range(100):
            z = torch.softmax(z @ w, dim=-1)
        end = torch.mlirdev.Event()
        start = time.perf_counter()
        mlirdev.sync()
        end.record()
        while busy and not end.query():
            sum(range(100))
        end.synchronize()
        return time.perf_counter() - start

    for _ in range(args.warmup):
        timed(False)
    alone, beside = [], []
    for _ in range(args.rounds):
        alone.append(timed(False))
        beside.append(timed(True))
    return statistics.median(alone), statistics.median(beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warmup", type=int, default=6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    failed = 0
    print(f"{'µs per op':<22}{'cpu':>8}{'record':>9}{'total':>9}{'compiles':>10}")
    with torch.no_grad():
        for name, (make, ops) in CASES.items():
            times, compiles, agree = measure(make, ops, args)
            cpu, record, total = (1e6 * statistics.median(times[key]) for key in ("cpu", "record", "total"))
            wrong = "" if agree else "  WRONG"
            failed += not agree or compiles > 0
            print(f"{name:<22}{cpu:>8.2f}{record:>9.2f}{total:>9.2f}{compiles:>10}{wrong}", flush=True)
        alone, beside = (1e3 * seconds for seconds in busy_thread(args))
        print(
            f"a plan of 100 kernels: {alone:.2f} ms alone, {beside:.2f} ms beside a busy thread ({beside / alone:.2f}×)"
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
