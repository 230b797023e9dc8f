"""The first pass after which a result is wrong, for a graph or a kernel.

    graph ─ front ─► IR after each pass, each taken on plainly and run ─── wrong? ─► the first such pass
                └─► kernels: all plain, in the plan ────────────────────── wrong? ─► forming kernel groups
                             each as it is compiled, beside plain ──────── wrong? ─► the same search in that kernel

Right is what PyTorch's CPU ops compute; for a kernel, what its source gives when it is lowered plainly. A pass that
fails or ends its process is found as well. Passes and kernels run in compile workers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlirdev.compiler.jobs import BackJob, FrontJob
from mlirdev.compiler.pool import pool
from mlirdev.compiler.stages import Back, Front, Refused, entry_symbol
from mlirdev.compiler.watch import Watch
from mlirdev.dtypes import DType
from mlirdev.dump import bare_name
from mlirdev.errors import LoweringError, OptionError, PassError
from mlirdev.explore.compare import EPS, difference
from mlirdev.explore.plain_plan import PlainPlan, sizes_of
from mlirdev.explore.stops import Stop, read_stops
from mlirdev.explore.subject import Subject, native_parts, signature_of, spec_of
from mlirdev.explore.tail import Ran, TailJob
from mlirdev.graph import TensorSpec
from mlirdev.lazy.reference import array_of, tensor_of
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.plan import Signature
from mlirdev.target import Target

Tell = Callable[[str], None]
# How many eps of its largest number a kernel's result may be from plain lowering's, a quarter of it.
_FINE, _COARSE = 256.0, 4.0


@dataclass(frozen=True)
class Verdict:
    """Where it goes wrong: in `pass_name` of `stage`, for the graph or kernel `name`. `what` is a sentence on how;
    `before` and `after` are the files of the IR there, `nodes` the graph's nodes behind it."""

    name: str
    stage: str
    pass_name: str
    what: str
    before: Path | None = None
    after: Path | None = None
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class _How:
    """How to search: where the IR after each pass goes, whether one by one, and whom to tell of each run."""

    folder: Path
    linear: bool
    tell: Tell


@dataclass(frozen=True)
class _Search:
    """One artefact's stops, how each is run, and how a run's results are judged: None where they are right."""

    name: str
    stops: list[Stop]
    job: Callable[[Stop], TailJob]
    judge: Callable[[object], str | None]
    nodes: tuple[int, ...]
    how: _How

    def first_bad(self) -> Verdict | None:
        """The first stop that is wrong: by halving, which takes a few runs and finds where right turns wrong, or one by
        one. Where a pass changed nothing, nothing is run."""
        pairs = zip(self.stops[1:], self.stops, strict=False)
        stops = [
            self.stops[0],
            *(stop for stop, before in pairs if (stop.stage, stop.body) != (before.stage, before.body)),
        ]
        if self.how.linear:
            problems = ((i, self._problem(stop)) for i, stop in enumerate(stops))
            return next((self._verdict(stops, i, problem) for i, problem in problems if problem), None)
        return self._halved(stops)

    def _halved(self, stops: list[Stop]) -> Verdict | None:
        wrong, problem = len(stops) - 1, self._problem(stops[-1])
        if problem is None:
            return None
        right = -1
        while wrong - right > 1:
            middle = (wrong + right) // 2
            found = self._problem(stops[middle])
            if found is None:
                right = middle
            else:
                wrong, problem = middle, found
        return self._verdict(stops, wrong, problem)

    def _problem(self, stop: Stop) -> str | None:
        problem = self.judge(pool.do(self.job(stop)))
        self.how.tell(f"{self.name}: {stop}: {problem or 'right'}")
        return problem

    def _verdict(self, stops: list[Stop], at: int, problem: str) -> Verdict:
        stop = stops[at]
        before = stops[at - 1].path if at else None
        return Verdict(self.name, stop.stage, stop.pass_name, problem, before, stop.path, self.nodes)


def bisect(subject: Subject, folder: Path, linear: bool, tell: Tell) -> Verdict | None:
    """The first wrong pass, or None where nothing is wrong. IR after each pass is left in `folder`."""
    how = _How(folder, linear, tell)
    if isinstance(subject.what, KernelSource):
        specs = [spec_of(result) for result in subject.what.signature.results]
        return _bisect_kernel(_Kernel(subject.what, subject.name, subject.params, specs, ()), subject.target, how)
    verdicts = (_bisect_part(part, nodes, how) for part, nodes in native_parts(subject, host_nodes(subject)))
    return next((verdict for verdict in verdicts if verdict is not None), None)


# --- a graph --------------------------------------------------------------------------------------


def host_nodes(subject: Subject) -> frozenset[int]:
    """The nodes that no kernel can be made of."""
    host: set[int] = set()
    while True:
        for part, nodes in native_parts(subject, frozenset(host)):
            outcome = pool.do(FrontJob(part.graph, part.target, part.name))
            refused = outcome.reasons if isinstance(outcome, Refused) else ()
            named = outcome.nodes if isinstance(outcome, LoweringError) else refused
            if named:
                host.update(nodes[n] for n in named)
                break
        else:
            return frozenset(host)


def _bisect_part(part: Subject, nodes: tuple[int, ...], how: _How) -> Verdict | None:
    graph = part.graph
    front = pool.do(FrontJob(graph, part.target, part.name, Watch(str(how.folder))))
    stops = read_stops(how.folder / part.name)
    sizes = sizes_of([graph.specs[v] for v in graph.outputs])

    def job(stop: Stop) -> TailJob:
        rest = ",".join(step.text for step in stop.rest) if stop.stage in ("torch", "linalg") else ""
        return TailJob(stop.text, stop.stage, signature_of(graph), part.params, sizes, part.target, rest=rest)

    def judge(outcome: object) -> str | None:
        return _failure(outcome) or part.wrong_output(_results(outcome))

    verdict = _Search(part.name, stops, job, judge, nodes, how).first_bad()
    if verdict is not None:
        return verdict
    if isinstance(front, Front):
        return _bisect_forming(front, part, nodes, how)
    return _failed_pass(part.name, front, stops, nodes)


def _bisect_forming(front: Front, part: Subject, nodes: tuple[int, ...], how: _How) -> Verdict | None:
    """The kernels of a graph whose IR is right up to where they are formed from it: plain ones together, then each as
    it is compiled."""
    plan = PlainPlan(front, part.inputs, part.scalars)
    kernels: dict[str, _Kernel] = {}
    for launch, source, params in plan.launches():
        name = f"{part.name}-{source.kind}-{source.key[:8]}"
        of_launch = tuple(sorted({nodes[n] for n in launch.nodes}))
        kernel = _Kernel(source, name, params, plan.result_specs(launch), of_launch)
        outcome = pool.do(kernel.plain_job(part.target))
        if problem := _failure(outcome):
            return Verdict(part.name, "plan", "forming kernel groups", problem, nodes=of_launch)
        plan.store(launch, _results(outcome))
        kernels.setdefault(launch.kernel, kernel)
    wrong = part.wrong_output(plan.outputs())
    how.tell(f"{part.name}: kernels formed, each lowered plainly: {wrong or 'right'}")
    if wrong is not None:
        return Verdict(part.name, "plan", "forming kernel groups", wrong, nodes=nodes)
    verdicts = (_bisect_kernel(kernel, part.target, how) for kernel in kernels.values())
    return next((verdict for verdict in verdicts if verdict is not None), None)


# --- a kernel -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kernel:
    """A kernel with the bytes of its parameters, the types of its results, and the graph's nodes that it computes."""

    source: KernelSource
    name: str
    params: tuple[bytes, ...]
    results: Sequence[TensorSpec]
    nodes: tuple[int, ...]

    def plain_job(self, target: Target) -> TailJob:
        signature = self.source.signature
        return TailJob(self.source.text, "kernel", signature, self.params, sizes_of(self.results), target)


def _bisect_kernel(kernel: _Kernel, target: Target, how: _How) -> Verdict | None:
    source, name = kernel.source, kernel.name
    plain = pool.do(kernel.plain_job(target))
    if problem := _failure(plain):
        raise OptionError(f"{name} can't be judged: lowered plainly, it fails: {problem}")
    back = pool.do(BackJob(source, source.key, target, name, Watch(str(how.folder))))
    stops = read_stops(how.folder / name)
    signature = _with_scratch(source.signature, stops)
    base = replace(kernel.plain_job(target), signature=signature, symbol=entry_symbol(source.key))

    def job(stop: Stop) -> TailJob:
        return replace(base, text=stop.text, stage=stop.stage, done=stop.done)

    def judge(outcome: object) -> str | None:
        return _failure(outcome) or _differs(_results(outcome), _results(plain), kernel.results)

    search = _Search(name, stops, job, judge, kernel.nodes, how)
    if not isinstance(back, Back):
        return search.first_bad() or _failed_pass(name, back, stops, kernel.nodes)
    # What the program runs: where that is right, halving would find nothing.
    problem = judge(pool.do(replace(base, text=back.code, stage="obj", signature=back.signature)))
    how.tell(f"{name}: as it is compiled: {problem or 'right'}")
    if problem is None:
        return search.first_bad() if how.linear else None
    return search.first_bad() or Verdict(name, "obj", "codegen", problem, stops[-1].path, nodes=kernel.nodes)


def _with_scratch(signature: Signature, stops: list[Stop]) -> Signature:
    """The signature with as much scratch memory as any of the stops says it wants."""
    wanted = [stop.scratch for stop in stops]
    return replace(signature, workspace=max(w for w, _ in wanted), thread_workspace=max(t for _, t in wanted))


def _differs(got: Sequence[bytes], wanted: Sequence[bytes], specs: Sequence[TensorSpec]) -> str | None:
    """How a kernel's results differ from those of plain lowering, whose sums are in another order."""
    for number, (g, w, spec) in enumerate(zip(got, wanted, specs, strict=True)):
        right = array_of(tensor_of(w, spec))
        found = difference(array_of(tensor_of(g, spec)), right, spec.dtype, scale=_scale(right, spec))
        if found is not None:
            return f"result {number} is wrong {found}" if len(specs) > 1 else f"the result is wrong {found}"
    return None


def _scale(right: Any, spec: TensorSpec) -> float:
    if spec.dtype not in EPS:
        return 0.0
    numbers = np.abs(right[np.isfinite(right)])
    largest = float(numbers.max()) if numbers.size else 0.0
    return largest * (_FINE if EPS[spec.dtype] < EPS[DType.f16] else _COARSE)


# --- outcomes -------------------------------------------------------------------------------------


def _failure(outcome: object) -> str | None:
    """Why there are no results, in a line."""
    if isinstance(outcome, Exception):
        return f"{type(outcome).__name__}: {outcome}".splitlines()[0][:300]
    if isinstance(outcome, Ran) and any(outcome.error):
        return f"a check inside it failed (error word {list(outcome.error)})"
    return None


def _results(outcome: object) -> tuple[bytes, ...]:
    assert isinstance(outcome, Ran), f"a run gave {type(outcome).__name__}"
    return outcome.results


def _failed_pass(name: str, error: object, stops: list[Stop], nodes: tuple[int, ...]) -> Verdict:
    """The pass that failed, or ended its process, behind the last stop."""
    last = stops[-1]
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, PassError):
        return Verdict(name, error.stage, error.pass_name, what, last.path, nodes=nodes)
    coming = last.rest[0].text if last.rest else f"what follows {bare_name(last.pass_name)}"
    return Verdict(name, last.stage, coming, what, last.path, nodes=nodes)
