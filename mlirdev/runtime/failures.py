"""Errors that happened on a stream, kept until somebody sees them.

task raises / error word set ──► add() ──► raised at the next wait, or on reading a poisoned buffer
                                     └───► at exit: printed, and the exit code becomes non-zero
"""

from __future__ import annotations

from typing import NoReturn


class Failures:
    """A device's unseen failures, oldest first. Used from any thread; list operations are atomic under the GIL."""

    def __init__(self) -> None:
        self._unseen: list[tuple[object, BaseException]] = []

    def __len__(self) -> int:
        return len(self._unseen)

    def add(self, source: object, error: BaseException) -> None:
        """Note that work of `source` (a stream) failed."""
        self._unseen.append((source, error))

    def raise_error(self, error: BaseException) -> NoReturn:
        """Raise an error and count it as seen, wherever else it is noted."""
        self._unseen = [entry for entry in self._unseen if entry[1] is not error]
        # The traceback of an earlier raise would grow with each use of a poisoned buffer.
        raise error.with_traceback(None)

    def raise_first(self, source: object | None = None) -> None:
        """Raise the oldest unseen failure of `source`, or of anything."""
        for origin, error in self._unseen:
            if source is None or origin is source:
                self.raise_error(error)

    def drain(self) -> list[BaseException]:
        """All unseen failures, which are then forgotten."""
        unseen, self._unseen = self._unseen, []
        return [error for _, error in unseen]
