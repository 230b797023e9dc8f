"""Observers of `mlirdev opt`: the IR before and after passes, and their times, as mlir-opt prints them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from mlirdev.dump import bare_name
from mlirdev.events import ComingPass
from mlirdev.explore.irtext import Hidden, Language, normalized, op_counts


@dataclass(frozen=True)
class Printed:
    """Which passes the IR is printed before and after: by name, all, or (after) those that changed it."""

    before: frozenset[str] = frozenset()
    before_all: bool = False
    after: frozenset[str] = frozenset()
    after_all: bool = False
    after_change: bool = False

    def __bool__(self) -> bool:
        return bool(self.before or self.before_all or self.after or self.after_all or self.after_change)


class PrintIR:
    """An Observer that prints the IR on the standard error, with locations or without."""

    def __init__(self, printed: Printed, locations: bool) -> None:
        self._printed = printed
        self._hidden = Hidden(locations=not locations)
        self._coming: list[str] = []
        self._last = ""

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        self._coming = [step.text for step in coming]
        self._last = text()
        self._before_next()

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        now, printed = text(), self._printed
        changed = printed.after_change and now != self._last
        if printed.after_all or bare_name(pass_name) in printed.after or changed:
            self._print("After", pass_name, now)
        self._last = now
        self._coming.pop(0)
        self._before_next()

    def _before_next(self) -> None:
        if not self._coming:
            return
        coming = self._coming[0]
        if self._printed.before_all or bare_name(coming) in self._printed.before:
            self._print("Before", coming, self._last)

    def _print(self, when: str, name: str, text: str) -> None:
        shown = normalized(text, Language.MLIR, self._hidden).rstrip()
        print(f"// -----// IR Dump {when} {name} //----- //\n{shown}\n", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class PassResult:
    """A pass that has run: whether it changed the IR, and how many ops there are of each name."""

    name: str
    seconds: float
    changed: bool
    ops: dict[str, int]


class Collect:
    """An Observer that keeps a PassResult a pass."""

    def __init__(self) -> None:
        self.results: list[PassResult] = []
        self._last = ""

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        self._last = text()

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        now = text()
        self.results.append(PassResult(pass_name, seconds, now != self._last, op_counts(now, Language.MLIR)))
        self._last = now


def timing_report(results: list[PassResult]) -> str:
    """The passes' times in the order in which they ran, and their sum."""
    total = sum(result.seconds for result in results)
    rows = [*((result.seconds, result.name) for result in results), (total, "Total")]
    lines = ["Execution time report", "  ----Wall time----  ----Name----"]
    lines += [
        f"  {seconds:8.4f} s ({seconds / total if total else 1:6.1%})  {' '.join(name.split())}"
        for seconds, name in rows
    ]
    return "\n".join(lines)
