"""What a reproducer does here, and what another machine needs to see it: the IR before the pass that fails, and where
only upstream passes are involved, the command for torch-mlir's own tool."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from mlirdev.compiler.jobs import BackJob, FrontJob
from mlirdev.compiler.pool import pool
from mlirdev.compiler.reproducer import Failure, Reproducer
from mlirdev.compiler.stages import Front, Refused
from mlirdev.compiler.watch import Watch
from mlirdev.dump import is_for_torch_mlir_opt
from mlirdev.events import ComingPass
from mlirdev.explore.failing import outcome_of
from mlirdev.explore.stops import Stop, read_stops
from mlirdev.explore.subject import of_reproducer
from mlirdev.graph import Graph


@dataclass(frozen=True)
class Happened:
    """How a reproducer fails now; `last` is the IR before the pass that fails, where one does."""

    fails: Failure
    text: str
    last: Stop | None = None


def run_again(kept: Reproducer, folder: Path) -> Happened | None:
    """Do it again in workers, with the IR after each pass in `folder`; None if nothing fails any more."""
    if isinstance(kept.subject, Graph):
        return _graph_again(kept, kept.subject, folder)
    job = BackJob(kept.subject, kept.subject.key, kept.target, kept.name, Watch(str(folder)))
    return _failed(pool.do(job), folder / kept.name)


def _graph_again(kept: Reproducer, graph: Graph, folder: Path) -> Happened | None:
    front = pool.do(FrontJob(graph, kept.target, kept.name, Watch(str(folder))))
    if isinstance(front, Front):
        for source in front.kernels.values():
            name = f"{kept.name}-{source.kind}-{source.key[:8]}"
            happened = _failed(
                pool.do(BackJob(source, source.key, kept.target, name, Watch(str(folder)))), folder / name
            )
            if happened is not None:
                return happened
    elif not isinstance(front, Refused):
        return _failed(front, folder / kept.name)
    outcome = outcome_of(of_reproducer(kept))
    return None if outcome is None else Happened(outcome.fails, outcome.text)


def _failed(result: object, dumped: Path) -> Happened | None:
    if not isinstance(result, Exception):
        return None
    fails: Failure = "crash" if type(result).__name__ == "WorkerDied" else "error"
    return Happened(fails, f"{type(result).__name__}: {result}", read_stops(dumped)[-1])


def upstream_command(last: Stop) -> str | None:
    """The command by which torch-mlir's own tool runs the pass that comes after `last`, if it has what is needed."""
    coming = tuple(ComingPass(step.kind, step.text, step.options) for step in last.rest[:1])
    if not coming or not is_for_torch_mlir_opt(coming, last.text):
        return None
    pipeline = shlex.quote(f"builtin.module({coming[0].text})")
    return f"torch-mlir-opt {last.path.name} --pass-pipeline={pipeline}"
