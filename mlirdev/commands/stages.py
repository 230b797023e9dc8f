"""Texts that commands take: a file, - for the standard input, or OUT:OWNER:N, a stage of a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlirdev.commands.files import read_input
from mlirdev.errors import OptionError

if TYPE_CHECKING:
    from mlirdev.explore.steps import Step


@dataclass(frozen=True)
class Stage:
    """The text after pass `step` of "graphs/NAME" or "kernels/NAME"; `folder` has the files of all its passes."""

    owner: str
    folder: Path
    step: Step
    text: str

    @property
    def pipeline(self) -> Path:
        """The file of the stage's pipeline."""
        return self.folder / f"{self.step.stage}.yaml"


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
    return Stage(owner, record.folder / owner, step, text)
