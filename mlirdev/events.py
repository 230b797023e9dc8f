"""What happened, told by every layer to whoever listens.

A layer calls `emit(SomeEvent(...))`; metrics, logs and the explorer subscribe. With no subscriber an
emit is one truth test, so hot paths guard with `if listening():` before they build the event.
Observers of compilation (dumps, the explorer) are passed down explicitly as `Observer`s instead, since
compiling happens in other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the user's program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events; `where` is the user's line, if there is one."""

    where: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class Flush(Event):
    """A stream's trace was launched. `cause` is one word: value, sync, step, limit, cross_stream, event, mode…
    `lines()` are those of the graph's nodes."""

    cause: str = ""
    nodes: int = 0
    outputs: int = 0
    hit: bool = False
    graph: str = ""
    launches: int = 0
    record_s: float = 0.0
    launch_s: float = 0.0
    lines: Callable[[], Sequence[SourceLine | None]] | None = None


@dataclass(frozen=True, slots=True)
class Sync(Event):
    """The program waited for the device. `cause`: item, copy, print, bool, synchronize, data_dependent, …"""

    cause: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fallback(Event):
    """An op ran on the host. `cause`: data_dependent, no_rule, no_lowering, overlap."""

    op: str = ""
    cause: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SpecMiss(Event):
    """An op's output specs weren't in the cache. `source` is rule or meta."""

    op: str = ""
    source: str = "rule"


@dataclass(frozen=True, slots=True)
class GraphCompiled(Event):
    """A graph missed the graph cache. `reason` says in words what differed from the nearest cached one, `nearest`;
    `stages` are seconds of work (compile_time.STAGES), over all workers, where `seconds` is what the program waited."""

    graph: str = ""
    reason: str = ""
    nearest: str = ""
    nodes: int = 0
    kernels: int = 0
    kernels_compiled: int = 0
    from_disk: bool = False
    generalised: bool = False
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelCompiled(Event):
    """A kernel was compiled, by a worker in so many seconds, to an object of so many bytes."""

    name: str = ""
    seconds: float = 0.0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class CompileFailed(Event):
    """A graph's or kernel's compile failed in a way that it shouldn't. `owner` is what the record calls it
    ("kernels/NAME"), `reproducer` the folder to run again."""

    owner: str = ""
    error: Exception | None = None
    reproducer: str = ""


@dataclass(frozen=True, slots=True)
class WorkerLost(Event):
    """A compile worker died or hung; `reproducer` is the folder to run again."""

    graph: str = ""
    reproducer: str = ""


@dataclass(frozen=True, slots=True)
class OneThread(Event):
    """Kernels run on one thread, whatever their launches ask for. `reason` says why."""

    reason: str = ""


Listener = Callable[[Event], None]
# Replaced whole on a change, so that an emit on another thread goes over a tuple that stands still.
_listeners: tuple[Listener, ...] = ()


def listening() -> bool:
    return bool(_listeners)


def emit(event: Event) -> None:
    for listener in _listeners:
        listener(event)


def subscribe(listener: Listener) -> Callable[[], None]:
    """Call `listener` with each event from now on; the result unsubscribes it."""
    global _listeners
    _listeners = (*_listeners, listener)

    def unsubscribe() -> None:
        global _listeners
        _listeners = tuple(other for other in _listeners if other is not listener)

    return unsubscribe


class Observer(Protocol):
    """Sees the IR after every pass of a compilation. `text()` prints it, so looking is paid for only if wanted."""

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None: ...


def no_observer(stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
    """The Observer that doesn't look."""


@dataclass(frozen=True, slots=True)
class ComingPass:
    """A pass that is about to run. `kind` is pass (ours), mlir, transform or python; `text` is its name or text, as a
    pipeline file writes it."""

    kind: str
    text: str
    options: tuple[tuple[str, bool | int | float | str], ...] = ()


class PipelineObserver(Observer, Protocol):
    """An Observer that also wants to know, before a pipeline starts, what is coming."""

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        """`legal` are the dialects that may remain at the end (empty: all); `text()` prints the IR before."""


def announce(
    observe: Observer,
    stage: str,
    coming: tuple[ComingPass, ...],
    legal: tuple[str, ...],
    text: Callable[[], str],
) -> None:
    """Tell an observer that a pipeline starts, if it wants to know."""
    begin = getattr(observe, "begin", None)
    if begin is not None:
        begin(stage, coming, legal, text)


def wants_everything(observe: Observer) -> bool:
    """Whether an observer wants texts whole, with constants of any length."""
    return bool(getattr(observe, "everything", False))


def replacement(observe: Observer, stage: str, pass_name: str) -> Any:
    """What an observer wants used in place of a stage's result: an override.Replacement or None. "input" stands for
    the IR before the first pass."""
    ask = getattr(observe, "replacement", None)
    return None if ask is None else ask(stage, pass_name)


class Observers:
    """Several Observers as one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self.everything = any(map(wants_everything, observers))

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        for observe in self._observers:
            announce(observe, stage, coming, legal, text)

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        for observe in self._observers:
            observe(stage, pass_name, text, seconds)

    def replacement(self, stage: str, pass_name: str) -> Any:
        found = (replacement(observe, stage, pass_name) for observe in self._observers)
        return next((each for each in found if each is not None), None)
