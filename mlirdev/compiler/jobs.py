"""What the parent asks of a compile worker: a job that pickles, and the function that does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlirdev import logs
from mlirdev.compiler import stages
from mlirdev.errors import LoweringError, OptionError
from mlirdev.events import Observer, Observers, no_observer
from mlirdev.graph import Graph
from mlirdev.override import Replacer
from mlirdev.target import Target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource


@dataclass(frozen=True)
class Override:
    """The edited files of this job's folder of an override, to be used in place of what the passes make."""

    folder: Path
    files: tuple[str, ...]


@dataclass(frozen=True)
class FrontJob:
    """Form the kernel groups of a graph."""

    graph: Graph
    target: Target
    name: str
    dump: str = ""
    log: bool = False
    override: Override | None = None

    def run(self) -> stages.Front | stages.Refused:
        with _replacing(self.override) as replacer:
            return stages.front(self.graph, self.target, _observer(self.dump, self.log, self.name, replacer))


@dataclass(frozen=True)
class BackJob:
    """Compile one kernel."""

    source: KernelSource
    key: str
    target: Target
    name: str
    dump: str = ""
    log: bool = False
    override: Override | None = None

    def run(self) -> stages.Back:
        with _replacing(self.override) as replacer:
            observe = _observer(self.dump, self.log, self.name, replacer)
            return stages.back(self.source, self.key, self.target, observe)


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


@contextmanager
def _replacing(override: Override | None) -> Iterator[Replacer | None]:
    """A Replacer for a job with edited files. What goes wrong after it has replaced something is blamed on that."""
    if override is None:
        yield None
        return
    replacer = Replacer(override.folder, override.files, logs.say_override)
    try:
        yield replacer
        replacer.finish()
    except OptionError:
        raise
    except Exception as error:
        raise replacer.blame(error) from error


def _observer(folder: str, log: bool, name: str, replacer: Replacer | None) -> Observer:
    """Who looks at the passes, if anybody: what replaces them, a dump folder, the log."""
    observers: list[Observer] = [replacer] if replacer else []
    if folder:
        from mlirdev.dump import DumpObserver

        observers.append(DumpObserver(Path(folder), name))
    if log:
        from mlirdev.logs import pass_log

        observers.append(pass_log(name))
    return Observers(*observers) if observers else no_observer
