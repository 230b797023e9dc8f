"""One line on stderr when a program has waited two seconds on compiling, replaced by its time when done."""

from __future__ import annotations

import sys

from mlirdev.events import SourceLine
from mlirdev.options import options

_PATIENCE_S = 2.0


class Progress:
    """The line of one compilation; `tick` while it runs, `done` at its end."""

    def __init__(self, what: str, where: SourceLine | None) -> None:
        self._what = what
        self._where = f" for {where}" if where else ""
        self._shown = False

    def tick(self, seconds: float, left: int) -> None:
        if seconds >= _PATIENCE_S and not self._shown and not options.quiet:
            self._shown = True
            end = "" if sys.stderr.isatty() else "\n"
            print(f"mlirdev: compiling {self._what} ({left} left){self._where} …", end=end, file=sys.stderr, flush=True)

    def done(self, seconds: float) -> None:
        if self._shown:
            start = "\r\x1b[K" if sys.stderr.isatty() else ""
            print(f"{start}mlirdev: compiled {self._what}{self._where} in {seconds:.1f} s", file=sys.stderr, flush=True)
