"""Recording that nobody else sees and that is never launched: a whole program, taken down once and run often.

    with privately() as private:     ops of this thread go to `private.trace`
        cell = private.input(layout)         a value that each run is given
        ...                                  random ops are noted in `private.draws`, and draw nothing
    cut(private.trace, numbers)      the Graph

What needs a value while it is recorded raises NeedsValueError; it has to run between two such programs.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from mlirdev.errors import UnsupportedError
from mlirdev.lazy import rng
from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.trace import Cell, Trace, choose_trace, current_stream, new_cell, recorder


class NeedsValueError(UnsupportedError):
    """A value is needed where there is none yet."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"a value is needed ({cause}) while a graph is being compiled")


@dataclass(frozen=True)
class Draw:
    """A random op's part of a generator's stream: `blocks` of it; seed and offset are scalars `at` and `at + 1`."""

    generator: rng.Generator
    blocks: int
    at: int


@dataclass
class Private:
    """A private recording."""

    trace: Trace
    draws: list[Draw] = field(default_factory=list)

    def input(self, layout: Layout) -> Cell:
        """A value that each run is given."""
        cell = new_cell(layout)
        # None: there is no memory yet, and nothing looks for it, since the cell is this trace's already.
        self.trace.inputs.append((None, layout.dense))  # type: ignore[arg-type]
        cell.trace, cell.number = self.trace, -len(self.trace.inputs)
        return cell


class _Here(threading.local):
    private: Private | None = None


_here = _Here()
_lock = threading.Lock()


@contextlib.contextmanager
def privately() -> Iterator[Private]:
    """Record this thread's ops privately inside a `with`."""
    trace = Trace(current_stream())
    trace.private = True
    trace.checkpoint = sys.maxsize  # has no limit
    before = recorder.current.private, _here.private
    private = Private(trace)
    _count(1)
    recorder.current.private, _here.private = trace, private
    try:
        yield private
    finally:
        recorder.current.private, _here.private = before
        _count(-1)


def _count(change: int) -> None:
    with _lock:
        recorder.private += change
        choose_trace()


class _Noting:
    """Stands in for a generator: notes what is drawn."""

    def __init__(self, private: Private, generator: rng.Generator) -> None:
        self._private = private
        self._generator = generator

    def take(self, blocks: int) -> tuple[int, int]:
        # Seed and offset are the next scalars to be recorded.
        self._private.draws.append(Draw(self._generator, blocks, len(self._private.trace.scalars)))
        return 0, 0


def _drawing(generator: rng.Generator) -> rng.Source:
    """What to draw from in place of `generator`: itself, but in a private recording."""
    return generator if _here.private is None else _Noting(_here.private, generator)


rng.drawing = _drawing
