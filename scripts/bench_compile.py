#!/usr/bin/env python3
"""Seconds of the first call in a fresh process: cold (empty cache folder) and warm (the same folder again).

With --inductor, torch.compile's are beside them (it needs a C++ compiler). At the end: twelve equal blocks against
one, which should cost little more, since equal kernels compile once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench_zoo import Runner, apart

MODELS = ("gpt_block", "gpt2_block", "gpt2_block_step", "resnet18", "twelve_blocks")


def first_call(name: str, engine: str, threads: int) -> dict[str, Any]:
    """The first call's seconds, here and now, and how far its values are from eager's."""
    import torch

    torch.set_num_threads(threads)
    device = "mlirdev" if engine == "mlirdev" else "cpu"
    runner, eager = Runner(name, device, compiled=engine == "inductor"), Runner(name, "cpu")
    synchronize = torch.mlirdev.synchronize if device == "mlirdev" else lambda: None
    synchronize()
    start = time.perf_counter()
    result = runner.step(0)
    synchronize()
    first = time.perf_counter() - start
    start = time.perf_counter()
    runner.step(0)
    synchronize()
    return {"first": first, "second": time.perf_counter() - start, "apart": apart(result, eager.step(0))}


def in_a_process(name: str, engine: str, folder: str, threads: int) -> dict[str, Any]:
    caches = {key: f"{folder}/{key}" for key in ("MLIRDEV_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    command = [sys.executable, __file__, f"--child={name}", f"--engine={engine}", f"--threads={threads}"]
    environment = {**os.environ, **caches}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row if row["apart"] < 1e-3 else {"error": f"WRONG: {row['apart']:.1e} apart"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"some of: {','.join(MODELS)}")
    parser.add_argument("--inductor", action="store_true", help="torch.compile beside it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="mlirdev", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(first_call(args.child, args.engine, args.threads)))
        return 0
    engines = ["mlirdev", "inductor"] if args.inductor else ["mlirdev"]
    cold: dict[str, float] = {}
    failed = 0
    print(f"{'first call, seconds':<20}{'engine':>10}{'cold':>9}{'warm':>9}{'then ms':>9}")
    for name in args.only or MODELS:
        for engine in engines:
            with tempfile.TemporaryDirectory() as folder:
                rows = [in_a_process(name, engine, folder, args.threads) for _ in range(2)]
            error = next((row["error"] for row in rows if "error" in row), None)
            if error is not None:
                failed += 1
                print(f"{name:<20}{engine:>10}  {error}", flush=True)
                continue
            if engine == "mlirdev":
                cold[name] = rows[0]["first"]
            times = f"{rows[0]['first']:>9.2f}{rows[1]['first']:>9.2f}{rows[1]['second'] * 1e3:>9.2f}"
            print(f"{name:<20}{engine:>10}{times}", flush=True)
    if {"gpt_block", "twelve_blocks"} <= cold.keys():
        print(f"twelve equal blocks against one: {cold['twelve_blocks'] / cold['gpt_block']:.2f}×")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
