"""Run random programs; a failing one is shrunk and printed as a script. An access out of bounds ends the process: the
seed that was printed last is to blame.

scripts/fuzz --count 1000                    through the reference executor: recording and aliasing, fast
scripts/fuzz --count 100 --compile workers   compiled
scripts/fuzz --seed 17 --count 1 --mode blocking
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import sys
import time

import torch

from mlirdev.options import options
from tests.lazy.programs.beside import DifferenceError, run_random
from tests.lazy.programs.shrink import difference, script, shrink


def main() -> int:
    args = arguments()
    torch.set_num_threads(args.threads)
    faulthandler.enable()
    options.guard_pages = True
    failures: collections.Counter[str] = collections.Counter()
    started = time.monotonic()
    for seed in range(args.seed, args.seed + args.count):
        print(f"\r# seed {seed} ", end="", file=sys.stderr, flush=True)
        with options.override(mode=args.mode, compile=args.compile):
            kind = check(seed, args)
        if kind is not None:
            failures[kind] += 1
        if sum(failures.values()) >= args.stop_after:
            break
    done = seed + 1 - args.seed
    print(f"{done} programs, {sum(failures.values())} with a difference {dict(failures)}, "
          f"mode {args.mode}, compile {args.compile}, {time.monotonic() - started:.0f} s")  # fmt: skip
    return 1 if failures else 0


def check(seed: int, args: argparse.Namespace) -> str | None:
    """The kind of the program's difference, if it has one."""
    try:
        run_random(seed, args.steps)
    except DifferenceError as found:
        lines = shrink(found.lines, found.kind)
        small = difference(lines) or found
        print(f"# seed {seed}\n{script(lines, str(small), args.mode, args.compile)}", flush=True)
        return found.kind
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--count", type=int, default=100, help="how many programs, of consecutive seeds")
    parser.add_argument("--steps", type=int, default=40, help="lines of each")
    parser.add_argument("--mode", choices=("lazy", "eager", "blocking"), default="lazy")
    parser.add_argument("--compile", choices=("reference", "workers", "inline"), default="reference")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stop-after", type=int, default=10, help="so many differences")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
