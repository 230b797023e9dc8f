"""MLIRDEV_VERIFY: every kernel checked against PyTorch's CPU ops while the program runs.

    inputs of a launch ─┬─ the kernel ────────────────────────────► its results ─┐
                        └─ its nodes, one CPU op each (lazy/reference) ─► values ─┴─ equal? (compare.py)

The reference starts from what the launches before have really made, so a difference belongs to one kernel. A result is
compared with the graph's values that the kernel's nodes make. One that is none of them (a softmax's maximum, a packed
matrix) is a step on the way: it is checked by what is made of it, and where that is wrong, named as a suspect.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mlirdev import compiler, logs
from mlirdev.compiler import reproducer
from mlirdev.compiler.chosen import chosen_target
from mlirdev.errors import WrongResultError
from mlirdev.explore.compare import Difference
from mlirdev.explore.judge import Judge
from mlirdev.explore.plain_plan import Scalar, count_of
from mlirdev.graph import Graph
from mlirdev.lazy.reference import bytes_of, read_memory
from mlirdev.options import options
from mlirdev.plan import HostLaunch, Launch, SlotArg, evaluate
from mlirdev.runtime import Inspect

# Ops whose results PyTorch leaves open, or whose kernels may give others that are as right: signs of vectors, the order
# of equal elements, memory that nobody has written. What follows from them within a kernel isn't checked either.
LEFT_OPEN = (
    *("mlirdev.empty", "mlirdev.eigh", "mlirdev.svd", "mlirdev.sort_lines", "aten.empty.", "aten.empty_strided."),
    *("aten.sort.", "aten.topk.", "aten.kthvalue.", "aten.mode.", "aten.median.", "aten.nanmedian.", "aten.argsort."),
    *("aten.linalg_eig", "aten._linalg_eig", "aten._linalg_svd", "aten.linalg_qr", "aten.geqrf", "aten.linalg_lu"),
    *("aten._linalg_solve_ex", "aten.linalg_ldl", "aten._unique2", "aten.unique"),
)


def install() -> None:
    """Look at every launch from now on, as the option `verify` says."""
    _reported.clear()
    compiler.set_inspector(_inspector)


def _inspector(
    executable: compiler.Executable,
    scalars: Sequence[Scalar],
    syms: tuple[int, ...],
    with_line: Callable[[HostLaunch, BaseException], BaseException],
) -> Inspect | None:
    if options.verify == "off" or options.compile == "reference":
        return None
    return lambda span: _Run(executable, list(scalars), syms, span, with_line).check


@dataclass(frozen=True)
class Finding:
    """A kernel's result that isn't the value it should be."""

    launch: Launch
    value: int
    difference: Difference
    actual: Any


@dataclass
class _Run:
    """One run of an executable: what its launches have made so far."""

    executable: compiler.Executable
    scalars: list[Scalar]
    syms: tuple[int, ...]
    span: Callable[[int], tuple[int, int]]
    with_line: Callable[[HostLaunch, BaseException], BaseException]
    # By slot: launches whose result there is no value of the graph, and how it differs from the one it may be.
    steps: dict[int, tuple[Launch, Finding | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan = self.executable.plan
        self.graph: Graph = self.executable.graph.at(self.syms)
        self.judge = Judge(self.graph, self.scalars)
        for value, slot in enumerate(plan.inputs):
            self._know(value, slot)
        self.inputs = tuple(bytes_of(self.judge.value(v)) for v in range(len(plan.inputs)))
        self.outputs: dict[int, list[int]] = {}
        for slot, value in zip(plan.outputs, self.graph.outputs, strict=True):
            self.outputs.setdefault(slot, []).append(value)

    def check(self, launch: Launch | HostLaunch) -> None:
        """Look at what a launch has made. Raises WrongResultError where the option says so."""
        if isinstance(launch, HostLaunch):
            first = self.graph.first_result[launch.node]
            for i, slot in enumerate(launch.results):
                self._know(first + i, slot)
            return
        for i, slot in enumerate(launch.results):
            made = launch.made[i] if i < len(launch.made) else -1
            for finding in self._check_result(launch, slot, made):
                _report(self, finding)

    def _check_result(self, launch: Launch, slot: int, made: int) -> list[Finding]:
        """What is wrong with a result, if anything; what it is, is known from here on."""
        if slot in self.outputs:
            return [f for value in self.outputs[slot] for f in self._check_output(launch, slot, value)]
        likely = list(self._values(made))
        self.steps[slot] = launch, None
        for value in self._candidates(launch, slot, likely):
            if self._is_open(value):
                continue
            finding = self._compare(launch, value, slot)
            if finding is None:
                self._know(value, slot)
                del self.steps[slot]
                return []
            if value in likely:
                self.steps[slot] = launch, finding
        return []

    def _check_output(self, launch: Launch, slot: int, value: int) -> list[Finding]:
        """A result that certainly is this value: what is wrong with it, or with a step behind it, or with both."""
        finding = None if self._is_open(value) else self._compare(launch, value, slot)
        suspect = self._suspect(launch) if finding is not None else None
        if suspect is not None:
            self.judge.know(suspect.value, suspect.actual)
            finding = self._compare(launch, value, slot)
        self._know(value, slot)
        return [found for found in (suspect, finding) if found is not None]

    def _suspect(self, launch: Launch) -> Finding | None:
        """The first of the launches behind a wrong result that seems wrong itself."""
        slots = [arg.slot for arg in launch.args if isinstance(arg, SlotArg)]
        seen: list[Finding] = []
        while slots:
            step = self.steps.pop(slots.pop(), None)
            if step is None:
                continue
            slots += [arg.slot for arg in step[0].args if isinstance(arg, SlotArg)]
            seen += [step[1]] if step[1] is not None else []
        return seen[-1] if seen else None

    def _values(self, node: int) -> range:
        if node < 0:
            return range(0)
        first = self.graph.first_result[node]
        return range(first, first + len(self.graph.nodes[node].results))

    def _candidates(self, launch: Launch, slot: int, likely: list[int]) -> list[int]:
        """The values that a result may be, the likely ones first: of the launch's nodes, of its type and as large."""
        values = [v for node in sorted(set(launch.nodes), reverse=True) for v in self._values(node)]
        kind = self.executable.plan.slots[slot]
        count = math.prod(evaluate(d, self.syms) for d in kind.shape)
        specs = self.graph.specs
        return [
            value
            for value in dict.fromkeys([*likely, *values])
            if specs[value].dtype.builtin == kind.dtype.builtin and count_of(specs[value]) == count
        ]

    def _is_open(self, value: int) -> bool:
        """Whether there is nothing to compare a value with."""
        between = self.judge.between(value)
        if any(self.graph.nodes[n].op.startswith(LEFT_OPEN) for n in between):
            return True
        try:
            self.judge.value(value)
        except Exception as error:  # PyTorch's, of whatever type
            _say_unchecked(", ".join(dict.fromkeys(self.graph.nodes[n].op for n in between)), str(error))
            return True
        return False

    def _compare(self, launch: Launch, value: int, slot: int) -> Finding | None:
        actual = self._read(slot, value)
        found = self.judge.difference(value, actual)
        return None if found is None else Finding(launch, value, found, actual)

    def _know(self, value: int, slot: int) -> None:
        self.judge.know(value, self._read(slot, value))

    def _read(self, slot: int, value: int) -> Any:
        spec = self.graph.specs[value]
        return read_memory(self.span(slot)[0], spec.shape, spec.dtype)  # type: ignore[arg-type]  # sizes are fixed here


# --- telling --------------------------------------------------------------------------------------

_lock = threading.Lock()
_reported: set[str] = set()


@lru_cache
def _say_unchecked(ops: str, error: str) -> None:
    logs.say("verify", f"what {ops} makes isn't checked, as PyTorch's CPU ops can't compute it like this: {error}")


def _report(run: _Run, finding: Finding) -> None:
    """Raise, or print once per kernel."""
    with _lock:
        again = finding.launch.kernel in _reported
        _reported.add(finding.launch.kernel)
    if again and options.verify == "warn":
        return
    node = _node_of(run.graph, finding.value)
    error = WrongResultError(_sentence(run, finding, node, _capture(run, finding)))
    told = run.with_line(HostLaunch(node, (), ()), error)
    if options.verify == "error":
        raise told
    logs.say("verify", str(told))


def _node_of(graph: Graph, value: int) -> int:
    return max(n for n, first in enumerate(graph.first_result) if first <= value)


def _sentence(run: _Run, finding: Finding, node: int, folder: str) -> str:
    executable, launch, graph = run.executable, finding.launch, run.graph
    launches = [x for x in executable.plan.launches if isinstance(x, Launch)]
    kernel = f"{executable.name}, kernel {launch.kernel[:8]}, launch {launches.index(launch) + 1} of {len(launches)}"
    nodes = ", ".join(f"n{n} {graph.nodes[n].op}" for n in sorted(set(launch.nodes)))
    remedy = f"; to find the pass: mlirdev bisect {folder}" if folder else ""
    return (
        f"{kernel}: n{node} {graph.nodes[node].op} -> {graph.specs[finding.value]} isn't PyTorch's on the CPU "
        f"{finding.difference}; its nodes: {nodes}{remedy}"
    )


def _capture(run: _Run, finding: Finding) -> str:
    """The folder of a reproducer: the graph as it ran, with its inputs."""
    lines = {node: _line(run, node) for node in range(len(run.graph.nodes))}
    kept = reproducer.Reproducer(
        subject=run.graph,
        target=chosen_target(),
        name=run.executable.name,
        fails="wrong",
        error=str(finding.difference),
        inputs=run.inputs,
        scalars=tuple(run.scalars),
        lines={node: line for node, line in lines.items() if line},
    )
    return reproducer.keep(kept)


def _line(run: _Run, node: int) -> str:
    """A node's place in the user's program."""
    told = str(run.with_line(HostLaunch(node, (), ()), WrongResultError("")))
    return told.strip(" ()").removeprefix("recorded at ")
