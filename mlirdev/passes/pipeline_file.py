"""Pipelines as YAML files.

A file lists steps, each one of

    - pass: fold-zero-pads               a pass of ours, an installed package's, or an upstream one by MLIR's name
      options: {rows: 4}                 (options of a pass of ours, or of Python)
    - mlir: func.func(canonicalize,cse)  MLIR's own pipeline text, run on the module
    - transform: generalize.mlir         a transform-dialect file of schedules/, beside the pipeline, or a path
    - python: package.module:function    anyone's function(module, target, **options)
    - pipeline: cleanup                  the steps of another pipeline

under the key `steps`, beside `help` and `legal`: the dialects that may remain when the pipeline is done. Or it changes
another pipeline:

    extends: kernel                      its steps, its `legal` where the file has none
    edits:
    - before: one-shot-bufferize         also `after`, `replace` and `remove`: a pass by name, "cse#2" is the second
      steps: [{python: "my_passes:tile"}]

Everything is checked before the first step runs; a mistake raises OptionError with its line.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import msgspec

from mlirdev.described import Described, installed, parse_yaml, structured
from mlirdev.errors import OptionError
from mlirdev.nearest import remedy
from mlirdev.passes.pipeline_text import single_passes
from mlirdev.passes.registry import FOLDER, OptionValue
from mlirdev.passes.schedule_files import find_schedule
from mlirdev.passes.steps import Pipeline, Step, make_step

PIPELINES = FOLDER / "pipelines"
KINDS = ("pass", "mlir", "transform", "python", "pipeline")
EDITS = ("before", "after", "replace", "remove")
_Name: TypeAlias = "str | None"


class _Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"pass_": "pass"}):
    """One entry of `steps`."""

    pass_: _Name = None
    mlir: _Name = None
    transform: _Name = None
    python: _Name = None
    pipeline: _Name = None
    options: dict[str, OptionValue] = {}


class _Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `edits`."""

    before: _Name = None
    after: _Name = None
    replace: _Name = None
    remove: _Name = None
    steps: list[_Item] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    help: str = ""
    legal: list[str] = []
    steps: list[_Item] = []
    extends: str = ""
    edits: list[_Edit] = []


def pipeline_names() -> tuple[str, ...]:
    """The built-in pipelines, and those that installed packages bring."""
    return tuple(sorted({p.stem for p in PIPELINES.glob("*.yaml")} | set(installed("pipeline"))))


def named_file(name: str) -> Path:
    """The file of a pipeline that has a name."""
    builtin = PIPELINES / f"{name}.yaml"
    return builtin if builtin.exists() else installed("pipeline").get(name, builtin)


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline in this file, checked."""
    return _read(path, ())


def _read(path: Path, below: tuple[Path, ...]) -> Pipeline:
    """The same; `below` are the files that it is part of."""
    if path.resolve() in below:
        raise OptionError(f"pipeline {path} includes itself")
    try:
        text = path.read_text()
    except OSError as error:
        raise OptionError(f"pipeline {path} can't be read: {error.strerror}") from error
    return _pipeline_of_text(path, text, (*below, path.resolve()))


@lru_cache(maxsize=64)
def _pipeline_of_text(path: Path, text: str, below: tuple[Path, ...]) -> Pipeline:
    described = parse_yaml("pipeline", path, text, list_key="steps")
    file = structured(described, _File)
    reader = _Reader(path, described, below)
    steps = reader.steps(file.steps, ("steps",))
    if not file.extends:
        reader.refuse_edits(file)
        return Pipeline(path.stem, steps, tuple(file.legal), file.help)
    if file.steps:
        raise OptionError(f"{described.where(('steps',))}: a pipeline that extends another has `edits`, not `steps`")
    base = reader.other(file.extends, ("extends",))
    return Pipeline(path.stem, reader.edited(base.steps, file.edits), tuple(file.legal) or base.legal, file.help)


class _Reader:
    """Makes steps of a file's entries."""

    def __init__(self, path: Path, described: Described, below: tuple[Path, ...]) -> None:
        self._path = path
        self._described = described
        self._below = below

    def steps(self, items: list[_Item], at: tuple[str | int, ...]) -> tuple[Step, ...]:
        return tuple(step for i, item in enumerate(items) for step in self._of_item(item, (*at, i)))

    def _of_item(self, item: _Item, at: tuple[str | int, ...]) -> tuple[Step, ...]:
        kind, text = self._only(item, at, KINDS)
        if kind == "pipeline":
            return self.other(text, at).steps
        if kind == "transform":
            text = str(find_schedule(text, self._path.parent))
        return (make_step(kind, text, item.options, self._described.where(at)),)

    def other(self, name: str, at: tuple[str | int, ...]) -> Pipeline:
        """The pipeline of this name: a file beside this one, else a built-in or installed one. So a user's kernel.yaml
        may include ours."""
        here = self._path.resolve()
        beside = self._path.parent / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
        for file in (beside, named_file(name)):
            if file.exists() and file.resolve() != here:
                return _read(file, self._below)
        where = self._described.where(at)
        if beside.resolve() == here:
            raise OptionError(f"{where}: the pipeline includes itself")
        raise OptionError(f"{where}: no pipeline '{name}'; {remedy(name, pipeline_names())}")

    def refuse_edits(self, file: _File) -> None:
        if file.edits:
            raise OptionError(f"{self._described.where(('edits',))}: `edits` need `extends`: the pipeline to change")
        if ("steps",) not in self._described.origins:
            raise OptionError(f"{self._path}: a pipeline holds a list of steps under the key 'steps', or `extends`")

    def edited(self, steps: tuple[Step, ...], edits: list[_Edit]) -> tuple[Step, ...]:
        """The steps after the edits, one after the other."""
        if edits:
            steps = opened(steps)
        for i, edit in enumerate(edits):
            at = ("edits", i)
            kind, name = self._only(edit, at, EDITS)
            new = self.steps(edit.steps, (*at, "steps"))
            if bool(new) == (kind == "remove"):
                what = "takes no steps" if new else "needs `steps`"
                raise OptionError(f"{self._described.where(at)}: an edit of kind '{kind}' {what}")
            found = self._find(steps, name, at)
            first, last = found + (kind == "after"), found + (kind != "before")
            steps = (*steps[:first], *new, *steps[last:])
        return steps

    def _find(self, steps: tuple[Step, ...], name: str, at: tuple[str | int, ...]) -> int:
        """The position of the step of this name; "cse#2" is the second of them."""
        bare, _, number = name.partition("#")
        places = [i for i, step in enumerate(steps) if step.name == bare]
        where = self._described.where(at)
        if not places:
            raise OptionError(f"{where}: no pass '{bare}' in it; {remedy(bare, dict.fromkeys(s.name for s in steps))}")
        if not number and len(places) > 1:
            raise OptionError(f"{where}: '{bare}' stands {len(places)} times in it; say which, as in {bare}#1")
        if number and not (number.isdigit() and 1 <= int(number) <= len(places)):
            raise OptionError(f"{where}: there is no '{name}'; '{bare}' stands {len(places)} times in it")
        return places[int(number or 1) - 1]

    def _only(self, item: msgspec.Struct, at: tuple[str | int, ...], names: tuple[str, ...]) -> tuple[str, str]:
        """The one of these keys that an entry has, and its value."""
        data = msgspec.to_builtins(item)
        given = [name for name in names if data[name] is not None]
        if len(given) != 1:
            raise OptionError(f"{self._described.where(at)}: this must have exactly one of: {', '.join(names)}")
        return given[0], data[given[0]]


def opened(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with every upstream pass by itself."""
    single: list[Step] = []
    for step in steps:
        passes = single_passes(step.text) if step.kind == "mlir" else ()
        single += [Step("mlir", text, origin=step.origin) for text in passes] or [step]
    return tuple(single)
