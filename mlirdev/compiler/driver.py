"""Graph → CompiledPlan and objects: which nodes the host runs, which kernels are missing, who compiles them.

    split ─► front jobs ─► kernels missing? ─► back jobs ─► join
      ▲            │ refused, failed, died twice      │
      └── those nodes run on the host ◄───────────────┘

The stages themselves are in `stages.py` and run in workers.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mlirdev.compiler import cache, overrides, reproducer, verdicts
from mlirdev.compiler.chosen import needs_this_process
from mlirdev.compiler.fingerprint import kernel_key
from mlirdev.compiler.jobs import BackJob, FrontJob, Job, Override, ProbeJob
from mlirdev.compiler.partition import NativePart, Part, join, single_node, split, subgraph
from mlirdev.compiler.pool import WorkerDied, pool
from mlirdev.compiler.stages import Back, Front, Refused
from mlirdev.compiler.watch import Watch, watch_now
from mlirdev.errors import LoweringError, MlirdevError, OptionError
from mlirdev.events import CompileFailed, KernelCompiled, WorkerLost, emit
from mlirdev.graph import Graph
from mlirdev.options import options
from mlirdev.override import died
from mlirdev.plan import Launch, Plan
from mlirdev.target import Target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource

# Kinds of kernels whose compile takes long, the longest first: what is left to the end should be short.
_SLOW_KINDS = ("attention", "convolution", "contraction", "row")
# A second worker is started for graphs of more nodes than this.
_NODES_PER_WORKER = 8
Tick = Callable[[float, int], None]
_Compiling = TypeVar("_Compiling", FrontJob, BackJob)


class CompileWarning(UserWarning):
    """A compilation failed in a way that it shouldn't: results are right, but slower than they could be."""


@dataclass
class Compilation:
    """One graph's way through the compiler: what is known so far."""

    graph: Graph
    target: Target
    name: str
    tick: Tick
    host: dict[int, str] = field(default_factory=dict)
    objects: dict[str, Back] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    compiled: int = 0
    failed: bool = False

    @cached_property
    def alone(self) -> bool:
        """Whether files edited by hand go into it, so that caches must neither help nor learn."""
        return overrides.touches(self.name)

    def run(self) -> cache.CompiledPlan:
        """Compile until every node is either in a kernel or on the host."""
        if _uses_workers(self.target):
            pool.start(-(-len(self.graph.nodes) // _NODES_PER_WORKER))
        self.host.update(verdicts.known_unlowerable(self.graph, self.target))
        while True:
            parts = split(self.graph, frozenset(self.host))
            fronts = self._fronts(parts)
            if fronts is None:
                continue
            plan = join(self.graph, parts, {i: _keyed(front, self.target) for i, front in fronts.items()})
            if self._backs(list(fronts.values()), plan):
                signatures = {key: self.objects[key].signature for key in plan.kernels}
                names = {key: self.names[key] for key in plan.kernels}
                return cache.CompiledPlan(plan, signatures, names, dict(self.host))

    def _fronts(self, parts: list[Part]) -> dict[int, Front] | None:
        """The native parts' fronts by position; None where more nodes went to the host."""
        native = [(i, part) for i, part in enumerate(parts) if isinstance(part, NativePart)]
        jobs = _overridden(front_jobs([part for _, part in native], self.target, self.name, watch_now()))
        fronts: dict[int, Front] = {}
        for at, result in self._results(jobs):
            position, part = native[at]
            if isinstance(result, Front):
                fronts[position] = result
            elif isinstance(result, Refused):
                self.host.update({part.nodes[n]: reason for n, reason in result.reasons.items()})
            else:
                self._give_up(part.graph, part.nodes, jobs[at], _as_error(result))
        return fronts if len(fronts) == len(native) else None

    def _backs(self, fronts: list[Front], plan: Plan) -> bool:
        """Have every kernel's object; False where more nodes went to the host."""
        sources = sources_by_key(fronts, self.target)
        self.names.update({key: source.name for key, source in sources.items()})
        for key in sources.keys() - self.objects.keys():
            found = None if options.dump or self.alone else cache.load_object(key)
            if found is not None:
                self.objects[key] = found
        missing = {key: source for key, source in sources.items() if key not in self.objects}
        jobs = _overridden(back_jobs(missing, self.target, self.name, watch_now()))
        for at, result in self._results(jobs):
            if isinstance(result, Back):
                self.compiled += 1
                self.objects[jobs[at].key] = result
                if not self.alone:
                    cache.store_object(jobs[at].key, result)
                emit(KernelCompiled(name=jobs[at].source.name, seconds=result.seconds, nbytes=len(result.code)))
            else:
                nodes = _nodes_of(plan, jobs[at].key)
                self._give_up(self.graph, nodes, jobs[at], _as_error(result), whole=True)
        return sources.keys() <= self.objects.keys()

    def _results(self, jobs: Sequence[Job]) -> list[tuple[int, object]]:
        """Every job's result or exception; a worker that somebody ended is told of."""

        def lost() -> None:
            emit(WorkerLost(graph=self.name))

        return do_jobs(jobs, self.target, self.tick, lost)

    def _give_up(self, graph: Graph, nodes: tuple[int, ...], job: Job, error: Exception, whole: bool = False) -> None:
        """Move the nodes behind a failure to the host: those that it names, else those that fail alone, else all."""
        if isinstance(error, OptionError):  # the user's pipeline: nothing to fall back from
            raise error
        if not isinstance(job, ProbeJob) and job.override is not None:
            raise died(error, job.override.folder, job.override.files)
        if isinstance(error, LoweringError):
            self.host.update({nodes[n]: error.reason for n in error.nodes})
            if error.nodes:
                return
        self._report(job, error, subgraph(graph, nodes).graph if whole else None)
        alone = [single_node(graph, n) for n in (nodes if whole else range(len(graph.nodes)))]
        probes = list(dict.fromkeys(alone))
        failed = {
            probes[at]: _one_line(result)
            for at, result in self._results([ProbeJob(p, self.target) for p in probes])
            if isinstance(result, Exception)
        }
        for probe, reason in failed.items():
            verdicts.remember(probe, self.target, reason)
        guilty = {n: failed[probe] for n, probe in zip(nodes, alone, strict=True) if probe in failed}
        self.host.update(guilty or dict.fromkeys(nodes, _one_line(error)))

    def _report(self, job: Job, error: Exception, part: Graph | None) -> None:
        self.failed = True
        folder = reproducer.write(job, error, part)
        if isinstance(error, WorkerDied):
            emit(WorkerLost(graph=self.name, reproducer=folder))
        emit(CompileFailed(owner=job.owner, error=error, reproducer=folder))
        warnings.warn(
            f"compiling {self.name} failed, so the ops behind it run on the CPU: {_one_line(error)}; "
            f"to see it again: mlirdev repro {folder or '(no folder could be written)'}",
            CompileWarning,
            stacklevel=2,
        )


def front_jobs(parts: Sequence[NativePart], target: Target, name: str, watch: Watch) -> list[FrontJob]:
    """A job for each native part of the graph of this name."""
    names = [name] if len(parts) == 1 else [f"{name}.{i}" for i in range(len(parts))]
    return [FrontJob(part.graph, target, name, watch) for part, name in zip(parts, names, strict=True)]


def back_jobs(sources: Mapping[str, KernelSource], target: Target, name: str, watch: Watch) -> list[BackJob]:
    """A job for each kernel of the graph of this name, by key; those that take longest first."""
    return [
        BackJob(source, key, target, f"{name}-{source.kind}-{key[:8]}", watch)
        for key, source in sorted(sources.items(), key=lambda item: _expected_cost(item[1]))
    ]


def sources_by_key(fronts: Iterable[Front], target: Target) -> dict[str, KernelSource]:
    """All kernels, by the key of their object."""
    return {kernel_key(s.key, s.kind, target): s for front in fronts for s in front.kernels.values()}


def do_jobs(jobs: Sequence[Job], target: Target, tick: Tick, lost: Callable[[], None]) -> list[tuple[int, object]]:
    """Every job's result or exception, by position: from the workers, or from this process where the target's passes
    live here. `lost` is called for each worker that was ended from outside: its job is done once more, when nothing
    else runs."""
    if needs_this_process(target):
        _say_inline()
    if not _uses_workers(target):
        return [(i, _inline(job)) for i, job in enumerate(jobs)]
    results = list(pool.run(jobs, tick)) if jobs else []
    gone = [at for at, result in results if isinstance(result, WorkerDied) and result.from_outside]
    for _ in gone:
        lost()
    again = {gone[i]: result for i, result in pool.run([jobs[at] for at in gone], tick)} if gone else {}
    return [(at, again.get(at, result)) for at, result in results]


def expect_compiles() -> None:
    """Start the workers now where nothing is cached: they load while the first graph is recorded."""
    if cache.is_empty() and options.compile == "workers":
        pool.start(options.workers or os.cpu_count() or 1)


def _overridden(jobs: list[_Compiling]) -> list[_Compiling]:
    """The jobs, with the edited files of their graphs and kernels where there are any."""
    folder = Path(options.override_dir)
    files = [overrides.files_for(job.name) for job in jobs]
    return [
        replace(job, override=Override(folder / job.name, edited)) if edited else job
        for job, edited in zip(jobs, files, strict=True)
    ]


def _uses_workers(target: Target) -> bool:
    return options.compile != "inline" and not needs_this_process(target)


def _expected_cost(source: KernelSource) -> tuple[int, int]:
    """Orders kernels by how long they may take to compile, the longest first."""
    kind = _SLOW_KINDS.index(source.kind) if source.kind in _SLOW_KINDS else len(_SLOW_KINDS)
    return kind, -len(source.text)


@lru_cache
def _say_inline() -> None:
    if not options.quiet:
        print("mlirdev: a pass of __main__ is in use, so kernels are compiled in this process", file=sys.stderr)


def _inline(job: Job) -> object:
    try:
        return job.run()
    except MlirdevError as error:
        return error


def _keyed(front: Front, target: Target) -> Plan:
    """The front's plan with kernels named by their cache key."""
    keys = {source: kernel_key(source, kernel.kind, target) for source, kernel in front.kernels.items()}
    launches = tuple(
        replace(launch, kernel=keys[launch.kernel]) if isinstance(launch, Launch) else launch
        for launch in front.plan.launches
    )
    return replace(front.plan, launches=launches)


def _nodes_of(plan: Plan, key: str) -> tuple[int, ...]:
    """The graph nodes that a kernel computes, over all its launches."""
    launches = [launch for launch in plan.launches if isinstance(launch, Launch) and launch.kernel == key]
    return tuple(sorted({node for launch in launches for node in launch.nodes}))


def _as_error(result: object) -> Exception:
    assert isinstance(result, Exception), f"a job answered {type(result).__name__}"
    return result


def _one_line(error: object) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]
