#!/usr/bin/env python3
"""Ten minutes with the explorer: a small program, seen from its Python lines to its instructions.

    python examples/explore_tour.py              in a new folder, which stays
    python examples/explore_tour.py FOLDER       in this one

Every command is printed before it runs, so that it can be typed again; names may be shortened to what is unique.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = """\
import torch

torch.manual_seed(0)


def forward(x, w):
    h = x @ w
    return torch.relu(h) * 2 + 1


w = torch.randn(8, 4).to("mlirdev")
for rows in (16, 32, 32):
    x = torch.ones(rows, 8).to("mlirdev")
    print(rows, round(forward(x, w).sum().item(), 3))
"""
# A pass as anybody may write one, with a mistake in it.
PASSES = '''\
"""Passes of the tour's own."""


def fewer(module, target):
    """Turn the first addition into a subtraction: wrong on purpose."""
    from torch_mlir import ir

    found = []

    def visit(op):
        if op.name == "arith.addf":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if found:
        add = found[0]
        with ir.InsertionPoint(add), add.location:
            left, right = add.operands
            less = ir.Operation.create("arith.subf", results=[left.type], operands=[left, right])
        add.results[0].replace_all_uses_with(less.result)
        add.erase()
'''
PIPELINE = """\
extends: kernel
edits:
- after: linalg-to-loops
  steps: [{python: "tour_passes:fewer"}]
"""


class Tour:
    """Runs commands in a folder, each under a line on what it is for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path[1:]])}

    def say(self, text: str) -> None:
        print(f"\n## {text}", flush=True)

    def run(self, *args: str, code: int = 0, most: int = 30, **variables: str) -> str:
        """Run `mlirdev ARGS`, print the command and the first lines of what it prints; all that it printed."""
        setting = "".join(f"{name}={value} " for name, value in variables.items())
        print(f"\n$ {setting}mlirdev {shlex.join(args)}", flush=True)
        done = self._done(args, variables, stderr=subprocess.STDOUT)
        lines = done.stdout.splitlines()
        print("\n".join(lines[:most]))
        if len(lines) > most:
            print(f"… {len(lines) - most} lines more")
        if done.returncode != code:
            raise SystemExit(f"that ended with {done.returncode}, where {code} was expected:\n{done.stdout}")
        return done.stdout

    def ask(self, *args: str) -> Any:
        """What a command says as JSON."""
        return json.loads(self._done((*args, "--json"), {}, stderr=None).stdout)

    def _done(
        self, args: tuple[str, ...], variables: dict[str, str], stderr: int | None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mlirdev", *args]
        environment = {**self._environment, **variables}
        return subprocess.run(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False
        )


def look(tour: Tour) -> str:
    """Record a run, and look at it; the kernel that is looked at."""
    tour.say("Record a run. OUT/report.html is a page of it; all that follows is the same in the terminal.")
    tour.run("run", "--explore", "out", "program.py")
    tour.say("What ran, where time went, and what cost some without being asked for.")
    tour.run("show", "out", most=60)
    tour.say("Why the second graph was compiled: how it differs from the one known before.")
    graphs = tour.ask("show", "out", "graphs")
    tour.run("diff", "out", next(graph["name"] for graph in graphs if graph["nearest"]), "--nearest", code=1)
    tour.say("Follow a line of Python down: nodes, MLIR, LLVM IR, assembly, launches.")
    tour.run("show", "out", "source")
    tour.run("show", "out", "lines", "program.py:8", most=45)
    kernels = tour.ask("show", "out", "kernels")
    return str(next(kernel["name"] for kernel in kernels if "program.py:8" in " ".join(kernel["lines"])))


def read(tour: Tour, kernel: str) -> None:
    """Read the passes of a kernel."""
    tour.say("The passes of a kernel that changed something, the IR after one, and two stages side by side.")
    tour.run("show", "out", "passes", kernel, "--changed", most=16)
    steps = [step for step in tour.ask("show", "out", "passes", kernel) if step["changed"]]
    loops = next(step["number"] for step in steps if step["name"] == "linalg-to-loops")
    before = max(step["number"] for step in steps if step["number"] < loops)
    tour.run("show", "out", "pass", kernel, "0", "--hide-locations")
    tour.run("diff", f"out:{kernel}:{before}", f"out:{kernel}:{loops}", "--hide-locations", code=1)
    tour.say("Find something in all passes of all graphs and kernels.")
    tour.run("show", "out", "search", r"vmaxp?s\b|maxnum|maximumf", most=10)


def change(tour: Tour, kernel: str) -> None:
    """Run passes by hand, go on from a stage, put an edited one in place."""
    tour.say("Run passes on a stage: as flags, as a pipeline of your own, with times; or go on through the rest.")
    tour.run("opt", f"out:{kernel}:0", "--linalg-generalize-named-ops", "--canonicalize", "--cse", "--mlir-timing")
    tour.run("opt", "--dump-pipeline", "kernel", most=8)
    tour.run("diff", "--pipeline", "kernel", "wrong.yaml", code=1, most=60)
    tour.run("compile", f"out:{kernel}:0", "--to", "asm", "--target", "aarch64", most=12)
    tour.say("Edit a dumped stage, and run the program with it: relu becomes its opposite, so the sum changes.")
    tour.run("run", "program.py", MLIRDEV_DUMP="dump")
    edited = edit(tour.folder / "dump")
    print(f"(edited: {edited.relative_to(tour.folder)})")
    tour.run("run", "--override", "dump", "program.py")


def edit(dump: Path) -> Path:
    """Change a stage of a dump by hand, as an editor would."""
    for file in sorted(dump.glob("*/*-kernel-input.mlir")):
        text = file.read_text()
        if "arith.maximumf" in text:
            file.write_text(text.replace("arith.maximumf", "arith.minimumf"))
            return file
    raise SystemExit("no kernel of the dump has a relu")


def search(tour: Tour) -> None:
    """Find the pass that makes a result wrong."""
    tour.say("A pass with a mistake. The program shows it, and bisect finds the pass, the element and the line.")
    tour.run("bisect", "--pipeline", "kernel=wrong.yaml", "program.py", code=1)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="mlirdev-tour-"))
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("program.py", PROGRAM), ("tour_passes.py", PASSES), ("wrong.yaml", PIPELINE)):
        (folder / name).write_text(text)
    print(f"The tour's folder is {folder}")
    tour = Tour(folder)
    kernel = look(tour)
    read(tour, kernel)
    change(tour, kernel)
    search(tour)
    tour.say(f"That was it. Everything is in {folder}; open {folder / 'out' / 'report.html'} in a browser.")


if __name__ == "__main__":
    main()
