"""Two pipelines compared: their steps, and what each leaves of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import click

from mlirdev.commands.child import Tell, run_in_child
from mlirdev.commands.stages import Input, read_text
from mlirdev.events import Observers
from mlirdev.explore.irtext import Hidden, Language, normalized
from mlirdev.explore.textdiff import TextDiff, compare
from mlirdev.explore.view import Part, Prose, Table, View
from mlirdev.options import options
from mlirdev.target import load_target

if TYPE_CHECKING:
    from mlirdev.passes.pipeline import Pipeline


@dataclass(frozen=True)
class StepPair:
    """A step of both pipelines, or of one ("" in the other). `same_ir`: both leave the same; None without a file, and
    where the step isn't of both."""

    a: str
    b: str
    same_ir: bool | None


@dataclass(frozen=True)
class PipelineDiff:
    """How pipeline B differs from A. `ir` is how what they make of the file in the end differs, without one None."""

    a: str
    b: str
    equal: bool
    steps: list[StepPair]
    ir: TextDiff | None


def compare_pipelines(names: Sequence[str], hidden: Hidden, target: str | None) -> tuple[View, bool]:
    """Pipelines A and B, and a FILE to run them on if there is a third name."""
    from mlirdev.passes.pipeline import load_pipeline

    if len(names) not in (2, 3):
        raise click.UsageError("give two pipelines: names or YAML files; and a file to run them on, if you like")
    ours, theirs = load_pipeline(names[0]), load_pipeline(names[1])
    read = read_text(names[2]) if len(names) == 3 else None
    texts = [_run(pipeline, read, target or options.target, hidden) for pipeline in (ours, theirs)] if read else None
    diff = _diff(names, (ours, theirs), texts)
    return View(diff, _parts(diff)), diff.equal


def _run(pipeline: Pipeline, read: Input, target: str, hidden: Hidden) -> list[str]:
    """The IR after each step."""

    def work(tell: Tell) -> list[str]:
        from mlirdev.passes.texts import transform_text

        kept = _Keep(hidden)
        transform_text(read.text, pipeline, load_target(target), Observers(tell, kept))
        return kept.texts

    return run_in_child(work)


class _Keep:
    """An Observer that keeps what is to be compared of the IR after each pass."""

    def __init__(self, hidden: Hidden) -> None:
        self.texts: list[str] = []
        self._hidden = hidden

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self.texts.append(normalized(text(), Language.MLIR, self._hidden))


def _diff(names: Sequence[str], pipelines: Sequence[Pipeline], texts: Sequence[list[str]] | None) -> PipelineDiff:
    from mlirdev.passes.pipeline import opened

    ours, theirs = ([str(step) for step in opened(pipeline.steps)] for pipeline in pipelines)
    pairs = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            same = [None if texts is None else texts[0][i1 + k] == texts[1][j1 + k] for k in range(i2 - i1)]
            pairs += [StepPair(step, step, alike) for step, alike in zip(ours[i1:i2], same, strict=True)]
        else:
            pairs += [StepPair(step, "", None) for step in ours[i1:i2]]
            pairs += [StepPair("", step, None) for step in theirs[j1:j2]]
    ir = compare(names[0], texts[0][-1], names[1], texts[1][-1]) if texts and all(texts) else None
    equal = ir.equal if ir else ours == theirs
    return PipelineDiff(names[0], names[1], equal, pairs, ir)


def _parts(diff: PipelineDiff) -> list[Part]:
    from mlirdev.explore.views.differences import styled

    marks = {(True, True): " ", (True, False): "-", (False, True): "+"}
    rows = [
        (marks[bool(pair.a), bool(pair.b)], pair.a or pair.b, {True: "same", False: "differs", None: ""}[pair.same_ir])
        for pair in diff.steps
    ]
    columns = ("", "step", "IR after it") if diff.ir else ("", "step")
    shown = [row[: len(columns)] for row in rows]
    parts: list[Part] = [Table(f"--- {diff.a}\n+++ {diff.b}", columns, shown, frozenset({"", "step", "IR after it"}))]
    if diff.ir:
        parts.append(Prose("what they make of it is the same", ()) if diff.ir.equal else styled(diff.ir))
    return parts
