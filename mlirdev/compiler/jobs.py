"""What the parent asks of a compile worker: a job that pickles, and the function that does it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlirdev.compiler import stages
from mlirdev.errors import LoweringError
from mlirdev.events import Observer, Observers, no_observer
from mlirdev.graph import Graph
from mlirdev.target import Target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource


@dataclass(frozen=True)
class FrontJob:
    """Form the kernel groups of a graph."""

    graph: Graph
    target: Target
    name: str
    dump: str = ""
    log: bool = False

    def run(self) -> stages.Front | stages.Refused:
        return stages.front(self.graph, self.target, _observer(self.dump, self.log, self.name))


@dataclass(frozen=True)
class BackJob:
    """Compile one kernel."""

    source: KernelSource
    key: str
    target: Target
    name: str
    dump: str = ""
    log: bool = False

    def run(self) -> stages.Back:
        return stages.back(self.source, self.key, self.target, _observer(self.dump, self.log, self.name))


@dataclass(frozen=True)
class ProbeJob:
    """Form and compile a graph whose code nobody wants: does it survive?"""

    graph: Graph
    target: Target
    name: str = "probe"

    def run(self) -> None:
        formed = stages.front(self.graph, self.target)
        if isinstance(formed, stages.Refused):
            raise LoweringError(tuple(formed.reasons), "; ".join(dict.fromkeys(formed.reasons.values())))
        for source in formed.kernels.values():
            stages.back(source, source.key, self.target)


Job = FrontJob | BackJob | ProbeJob


def _observer(folder: str, log: bool, name: str) -> Observer:
    """Who looks at the passes: a dump folder, the log, both or nobody."""
    observers: list[Observer] = []
    if folder:
        from mlirdev.dump import DumpObserver

        observers.append(DumpObserver(Path(folder), name))
    if log:
        from mlirdev.logs import pass_log

        observers.append(pass_log(name))
    return Observers(*observers) if observers else no_observer
