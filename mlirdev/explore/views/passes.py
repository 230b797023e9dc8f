"""The passes of a graph or kernel, the IR after one, and search through all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mlirdev.errors import OptionError
from mlirdev.explore import units
from mlirdev.explore.irtext import Hidden, language_of, normalized
from mlirdev.explore.names import resolve_owner
from mlirdev.explore.record import Record
from mlirdev.explore.steps import Step, steps
from mlirdev.explore.view import Code, Prose, Table, View

_SHOWN_OPS = 4
# Options that are too many for a table; --json has them.
_OPTIONS = re.compile(r"\{[^{}]{40,}\}")


@dataclass(frozen=True)
class StageText:
    """The IR after a pass."""

    owner: str
    step: Step
    text: str


@dataclass(frozen=True)
class Match:
    """A line of IR that a search found; `line` is from 1, in the text without the file's head."""

    owner: str
    number: int
    stage: str
    name: str
    line: int
    text: str


def passes(record: Record, given: str, changed_only: bool = False, pattern: str = "") -> View:
    """The passes of an owner: time, whether it changed something, ops that came and went."""
    owner = resolve_owner(record, given)
    wanted = compiled(pattern)
    found = [step for step in steps(record, owner) if wanted.search(step.name) and (step.changed or not changed_only)]
    rows = [
        (
            str(step.number),
            step.stage,
            _OPTIONS.sub("{…}", step.name),
            units.seconds(step.seconds),
            "changed" if step.changed else "",
            f"{step.ops:,}",
            units.nbytes(step.nbytes),
            _delta(step.delta),
        )
        for step in found
    ]
    columns = ("pass", "stage", "name", "time", "changed", "ops", "size", "delta")
    return View(found, [Table(owner, columns, rows, frozenset({"stage", "name", "changed", "delta"}))])


def stage_text(record: Record, given: str, number: int, hidden: Hidden) -> View:
    """The IR after a pass, without the comment at its file's head and what is hidden."""
    owner = resolve_owner(record, given)
    step, text = find_stage(record, owner, number)
    text = normalized(text, language_of(step.file), hidden)
    return View(StageText(owner, step, text), [Code(text, step.file)])


def find_stage(record: Record, owner: str, number: int) -> tuple[Step, str]:
    """The pass of this number, and its IR. Raises OptionError where there is none."""
    found = {step.number: (step, of) for step, of in zip(steps(record, owner), record.passes[owner], strict=True)}
    if number not in found:
        numbers = sorted(found)
        raise OptionError(f"{owner} has no pass {number}; its passes are {numbers[0]} to {numbers[-1]}")
    step, of = found[number]
    return step, record.text(of)


def search(record: Record, pattern: str) -> View:
    """The lines of IR in which a regular expression is found, in all passes that changed something."""
    found = list(_matches(record, compiled(pattern)))
    lines = [f"{m.owner} {m.number} {_OPTIONS.sub('{…}', m.name)}:{m.line}: {m.text.strip()}" for m in found]
    return View(found, [Prose("", lines or [f"'{pattern}' is in no pass"])])


def compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression of the user's. Raises OptionError where it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        remedy = "put \\ before signs that stand for themselves"
        raise OptionError(f"'{pattern}' is no regular expression: {error}; {remedy}") from error


def _matches(record: Record, wanted: re.Pattern[str]) -> Iterator[Match]:
    for owner, of_owner in record.passes.items():
        for step, of in zip(steps(record, owner), of_owner, strict=True):
            if not step.changed:  # its text is that of the pass before
                continue
            for line, text in enumerate(record.text(of).splitlines(), 1):
                if wanted.search(text):
                    yield Match(owner, step.number, step.stage, step.name, line, text)


def _delta(delta: dict[str, int]) -> str:
    shown = [f"{count:+d} {name}" for name, count in list(delta.items())[:_SHOWN_OPS]]
    rest = [f"and {len(delta) - _SHOWN_OPS} more"] if len(delta) > _SHOWN_OPS else []
    return ", ".join(shown + rest)
