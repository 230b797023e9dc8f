"""Does a graph fail, and how: compiled and run in a worker, its results beside PyTorch's."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mlirdev.compiler.pool import WorkerDied, pool
from mlirdev.compiler.reproducer import Failure
from mlirdev.errors import LoweringError, PassError
from mlirdev.explore.subject import Subject
from mlirdev.explore.tail import WholeJob


@dataclass(frozen=True)
class Outcome:
    """How a graph fails. `cause` is the same for the same fault in another graph; `text` tells all of it."""

    fails: Failure
    cause: str
    text: str


def outcome_of(subject: Subject, slow_s: float = 0.0) -> Outcome | None:
    """How a graph fails when it is compiled and run, or None. With `slow_s`, taking longer than that is a failure."""
    begin = time.monotonic()
    job = WholeJob(subject.graph, subject.target, subject.inputs, subject.scalars)
    result = pool.do(job)
    seconds = time.monotonic() - begin
    if isinstance(result, WorkerDied):
        return Outcome("crash", result.how, str(result))
    if isinstance(result, Exception):
        return Outcome("error", _cause(result), f"{type(result).__name__}: {result}")
    assert isinstance(result, tuple)
    wrong = subject.wrong_output(result)
    if wrong is not None:
        return Outcome("wrong", "wrong", wrong)
    if slow_s and seconds > slow_s:
        return Outcome("slow", "slow", f"it took {seconds:.1f} s")
    return None


def _cause(error: Exception) -> str:
    if isinstance(error, PassError):
        return f"{error.stage}/{error.pass_name}"
    return f"{type(error).__name__}: {error.reason}" if isinstance(error, LoweringError) else type(error).__name__
