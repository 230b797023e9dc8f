"""Compiling once more what is known already, for who wants to see the passes: the program's executables stay.

executables ─ front jobs ─► kernels' sources ─ back jobs, but for those seen ─► objects, to compare with the cached ones
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mlirdev.compiler import cache
from mlirdev.compiler.driver import back_jobs, do_jobs, front_jobs, sources_by_key
from mlirdev.compiler.executable import Executable
from mlirdev.compiler.jobs import BackJob
from mlirdev.compiler.partition import NativePart, split
from mlirdev.compiler.stages import Back, Front
from mlirdev.compiler.watch import NOBODY, Watch
from mlirdev.target import Target


@dataclass(frozen=True)
class Again:
    """A kernel that was compiled again, to which object or with what error. `differs`: the cached object has other
    bytes."""

    name: str
    owner: str
    back: Back | Exception
    differs: bool = False


def lower_again(
    executables: Sequence[Executable], watch: Watch, graphs: Collection[str], kernels: Collection[str]
) -> Iterator[Again]:
    """Compile what `watch` hasn't seen yet: of the graphs all but those named, of their kernels all but those named."""
    by_target: dict[Target, list[Executable]] = {}
    for executable in executables:
        names = executable.compiled.names.values()
        if executable.target is not None and (executable.name not in graphs or not set(names) <= set(kernels)):
            by_target.setdefault(executable.target, []).append(executable)
    for target, some in by_target.items():
        yield from _kernels_again(some, target, watch, graphs, kernels)


def _kernels_again(
    executables: Sequence[Executable], target: Target, watch: Watch, graphs: Collection[str], kernels: Collection[str]
) -> Iterator[Again]:
    fronts = []
    for executable in executables:
        pieces = split(executable.graph, frozenset(executable.host))
        parts = [piece for piece in pieces if isinstance(piece, NativePart)]
        fronts += front_jobs(parts, target, executable.name, NOBODY if executable.name in graphs else watch)
    formed = [result for _, result in do_jobs(fronts, target, _no_tick, _nobody)]
    sources = sources_by_key([front for front in formed if isinstance(front, Front)], target)
    missing = {key: source for key, source in sources.items() if source.name not in kernels}
    jobs = back_jobs(missing, target, "again", watch)
    for at, result in do_jobs(jobs, target, _no_tick, _nobody):
        yield _compared(jobs[at], result)


def _compared(job: BackJob, result: object) -> Again:
    if not isinstance(result, Back):
        assert isinstance(result, Exception)
        return Again(job.source.name, job.owner, result)
    cached = cache.load_object(job.key)
    return Again(job.source.name, job.owner, result, cached is not None and cached.code != result.code)


def _no_tick(seconds: float, left: int) -> None:
    """Nobody watches the time."""


def _nobody() -> None:
    """A worker that was ended is no news: its job was done again."""
