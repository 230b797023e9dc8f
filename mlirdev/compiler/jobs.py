"""What the parent asks of a compile worker: a job that pickles, and the function that does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mlirdev import logs
from mlirdev.compiler import stages
from mlirdev.compiler.watch import NOBODY, Watch
from mlirdev.errors import LoweringError, OptionError
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
    watch: Watch = NOBODY
    override: Override | None = None

    def run(self) -> stages.Front | stages.Refused:
        with _replacing(self.override) as replacer:
            observe = self.watch.observer(self.name, self.owner, replacer)
            return stages.front(self.graph, self.target, observe)

    @property
    def owner(self) -> str:
        """What the record calls it."""
        return f"graphs/{self.name}"


@dataclass(frozen=True)
class BackJob:
    """Compile one kernel."""

    source: KernelSource
    key: str
    target: Target
    name: str
    watch: Watch = NOBODY
    override: Override | None = None

    def run(self) -> stages.Back:
        with _replacing(self.override) as replacer:
            observe = self.watch.observer(self.name, self.owner, replacer)
            return stages.back(self.source, self.key, self.target, observe)

    @property
    def owner(self) -> str:
        """What the record calls it."""
        return f"kernels/{self.source.name}"


@dataclass(frozen=True)
class ProbeJob:
    """Form and compile a graph whose code nobody wants: does it survive?"""

    graph: Graph
    target: Target
    name: str = "probe"
    owner: str = ""

    def run(self) -> None:
        formed = stages.front(self.graph, self.target)
        if isinstance(formed, stages.Refused):
            raise LoweringError(tuple(formed.reasons), "; ".join(dict.fromkeys(formed.reasons.values())))
        for source in formed.kernels.values():
            stages.back(source, source.key, self.target)


Job = FrontJob | BackJob | ProbeJob


class Work(Protocol):
    """Anything that a worker can do: it pickles, and its module loads no torch."""

    def run(self) -> object: ...


@contextmanager
def _replacing(override: Override | None) -> Iterator[Replacer | None]:
    """A Replacer for a job with edited files. What goes wrong after it has replaced something is blamed on that."""
    if override is None:
        yield None
        return
    replacer = Replacer(override.folder, override.files, partial(logs.say, "override"))
    try:
        yield replacer
        replacer.finish()
    except OptionError:
        raise
    except Exception as error:
        raise replacer.blame(error) from error
