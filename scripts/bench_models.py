#!/usr/bin/env python3
"""Steady-state speed of models on the device beside eager PyTorch on the CPU, and whether the values agree.

Each workload runs in a process of its own, so a crash is one bad row. In it, both engines have copies of the same
weights, rounds alternate (eager, device, eager, …), the device is waited for after every step, and two sets of inputs
take turns. The ratio is eager's fastest round over the device's: above 1 the device is faster. A row whose values are
wrong has no ratio.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from typing import Any

from bench_zoo import WORKLOADS, Runner, apart

TOLERANCE = 2e-3
WEIGHTS_TOLERANCE = 5e-2  # after all rounds: Adam's first steps go by the sign of gradients, also of tiny ones


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """One workload, in this process."""
    import torch

    import mlirdev

    torch.set_num_threads(args.threads)
    runners = {"eager": Runner(name, "cpu"), "device": Runner(name, args.device)}
    synchronize = torch.mlirdev.synchronize if args.device == "mlirdev" else lambda: None
    worst, times = 0.0, {engine: [] for engine in runners}
    before: dict[str, Any] = {}
    for step in range(args.warmup + args.rounds):
        if step == args.warmup:
            before = mlirdev.metrics.snapshot()
        results = {}
        for engine, runner in runners.items():
            start = time.perf_counter()
            results[engine] = runner.step(step)
            synchronize()
            if step >= args.warmup:
                times[engine].append(time.perf_counter() - start)
        if step < 4 or step == args.warmup + args.rounds - 1:
            worst = max(worst, apart(results["device"], results["eager"]))
    after = mlirdev.metrics.snapshot()
    return {
        "name": name,
        "apart": worst,
        "apart_weights": apart(runners["device"].state(), runners["eager"].state()),
        "compiles": after["compiles"] - before["compiles"],
        "fallbacks": sum(after["fallbacks"].values()),
        **{f"{engine}_ms": 1e3 * min(t) for engine, t in times.items()},
        **{f"{engine}_median_ms": 1e3 * statistics.median(t) for engine, t in times.items()},
    }


def in_a_process(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """One workload in a fresh process; a row with `error` if that dies or takes too long."""
    given = [f"--{key}={getattr(args, key)}" for key in ("device", "threads", "rounds", "warmup")]
    command = [sys.executable, __file__, f"--child={name}", *given]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"no end after {args.timeout} s"}
    if done.returncode:
        return {"name": name, "error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if row["apart"] > TOLERANCE or row["apart_weights"] > WEIGHTS_TOLERANCE:
        row["error"] = f"WRONG: values {row['apart']:.1e} apart, weights {row['apart_weights']:.1e}"
    return row


def show(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{row['name']:<18} {row['error']}"
    ratio = row["eager_ms"] / row["device_ms"]
    return (
        f"{row['name']:<18}{row['eager_ms']:>10.2f}{row['device_ms']:>11.2f}{ratio:>8.2f}{row['compiles']:>10}"
        f"{row['fallbacks']:>11}{row['apart']:>10.1e}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mlirdev")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"some of: {','.join(WORKLOADS)}")
    parser.add_argument("--json", metavar="FILE", help="also write the rows there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child, args)))
        return 0
    print(f"{'':<18}{'eager ms':>10}{'device ms':>11}{'ratio':>8}{'compiles':>10}{'fallbacks':>11}{'apart':>10}")
    rows = []
    for name in args.only or WORKLOADS:
        rows.append(in_a_process(name, args))
        print(show(rows[-1]), flush=True)
    ratios = [row["eager_ms"] / row["device_ms"] for row in rows if "error" not in row]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of {len(ratios)} ratios, {args.threads} thread(s): {mean:.2f}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)
    return int(any("error" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
