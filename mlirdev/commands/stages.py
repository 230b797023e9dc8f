"""Texts that commands take: a file, - for the standard input, or OUT:OWNER:N, a stage of a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlirdev.commands.files import read_input
from mlirdev.dump import pipeline_file
from mlirdev.errors import OptionError

if TYPE_CHECKING:
    from mlirdev.explore.record import Record
    from mlirdev.explore.steps import Step


@dataclass(frozen=True)
class Stage:
    """The text after pass `step` of "graphs/NAME" or "kernels/NAME" of a record; `pipeline` is the file of what its
    stage runs, of which `step.index` passes are done."""

    record: Record
    owner: str
    step: Step
    text: str
    pipeline: Path

    @property
    def name(self) -> str:
        """The graph's or kernel's name."""
        return self.owner.partition("/")[2]


@dataclass(frozen=True)
class Input:
    """A text, the name that it was asked for by, and the stage of a record that it is, if it is one."""

    name: str
    text: str
    stage: Stage | None = None

    @property
    def file(self) -> str:
        """A file name, whose suffix says the language."""
        return self.stage.step.file if self.stage else self.name


def read_text(name: str) -> Input:
    """The text of a file, of the standard input, or of a stage. Raises OptionError where there is none."""
    parts = name.rsplit(":", 2)
    if len(parts) != 3 or Path(name).exists():
        return Input(name, read_input(name))
    stage = find_stage(*parts)
    return Input(name, stage.text, stage)


def find_stage(out: str, owner: str, number: str) -> Stage:
    """The stage OUT:OWNER:N."""
    from mlirdev.explore import names
    from mlirdev.explore.record import load_record
    from mlirdev.explore.views import passes

    record = load_record(Path(out))
    owner = names.resolve_owner(record, owner)
    if not number.isdecimal():
        raise OptionError(f"'{number}' is no number of a pass; `mlirdev show {out} passes {owner}` lists them")
    step, text = passes.find_stage(record, owner, int(number))
    before = record.passes[owner][: step.number + 1]
    nth = sum(of.stage == step.stage and not of.index for of in before)
    return Stage(record, owner, step, text, record.folder / owner / pipeline_file(step.stage, nth))
