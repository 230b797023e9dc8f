"""Pipelines as data: YAML files in pipelines/, or the text of `--pass-pipeline=`.

A pipeline file lists steps, each one of

    - pass: fold-zero-pads               a pass of ours, or an upstream one by MLIR's name
      options: {rows: 4}                 (options of a pass of ours)
    - mlir: func.func(canonicalize,cse)  MLIR's own pipeline text, run on the module
    - transform: generalize.mlir         a transform-dialect file of schedules/, or a path
    - python: package.module:function    anyone's function(module, target, **options)
    - pipeline: cleanup                  the steps of another pipeline

under the key `steps`, beside `help` and `legal`: the dialects that may remain when the pipeline is done.
Everything is checked before the first step runs; a mistake raises OptionError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from mlirdev.errors import OptionError
from mlirdev.passes.registry import (
    FOLDER,
    OptionValue,
    PassInfo,
    check_options,
    declared_options,
    find_function,
    find_pass,
    has_pass,
    nearest,
)

PIPELINES = FOLDER / "pipelines"
SCHEDULES = FOLDER / "schedules"
STEP_KINDS = ("pass", "mlir", "transform", "python", "pipeline")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `kind` is pass (ours), mlir, transform or python; `text` its name, pipeline text, path or reference."""

    kind: str
    text: str
    options: tuple[tuple[str, OptionValue], ...] = ()

    def __str__(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.text}{{{options}}}" if options else self.text

    @property
    def info(self) -> PassInfo:
        """The Python pass behind a step of kind pass or python."""
        return find_pass(self.text) if self.kind == "pass" else find_function(self.text)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps in order, and the dialects that may remain after the last; empty `legal` allows all."""

    name: str
    steps: tuple[Step, ...]
    legal: tuple[str, ...] = ()
    help: str = ""


def load_pipeline(source: str) -> Pipeline:
    """The pipeline of this built-in name, YAML file, or pass-pipeline text. Raises OptionError."""
    if source.endswith((".yaml", ".yml")):
        return read_pipeline(Path(source))
    if source in pipeline_names():  # a long text is no file name
        return read_pipeline(PIPELINES / f"{source}.yaml")
    if "(" in source or "," in source or has_pass(source):
        return Pipeline("text", parse_pass_pipeline(source))
    raise OptionError(
        f"no pipeline '{source}'{nearest(source, pipeline_names())}; "
        f"built in: {', '.join(pipeline_names())}; or give a .yaml file or text such as func.func(canonicalize)"
    )


def pipeline_names() -> tuple[str, ...]:
    """The built-in pipelines."""
    return tuple(sorted(p.stem for p in PIPELINES.glob("*.yaml")))


def expand(pipeline: Pipeline | str) -> tuple[str, ...]:
    """The steps as text, one each: what `--dump-pipeline` prints and what a cache key may hash."""
    steps = load_pipeline(pipeline).steps if isinstance(pipeline, str) else pipeline.steps
    return tuple(f"{step.kind}: {step}" for step in steps)


def single_passes(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with every upstream pass by itself, for who wants to look after each."""
    single: list[Step] = []
    for step in steps:
        single += [Step("mlir", text) for text in _opened(step.text, ())] if step.kind == "mlir" else [step]
    return tuple(single)


def _opened(text: str, anchors: tuple[str, ...]) -> list[str]:
    passes: list[str] = []
    for item in _split(text):
        name, body, _ = _parse_item(item)
        if body is None:
            passes.append(_wrap(anchors, item))
        else:
            passes += _opened(body, anchors if name == "builtin.module" and not anchors else (*anchors, name))
    return passes


# --- YAML -----------------------------------------------------------------------------------------


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline in this file, checked."""
    try:
        text = path.read_text()
    except OSError as error:
        raise OptionError(f"pipeline {path} can't be read: {error.strerror}") from error
    return _pipeline_of_text(path, text)


@lru_cache(maxsize=64)
def _pipeline_of_text(path: Path, text: str) -> Pipeline:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionError(f"pipeline {path} isn't YAML: {error}") from error
    if isinstance(data, list):
        data = {"steps": data}
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise OptionError(f"pipeline {path} must hold a list of steps, or a mapping with the key 'steps'")
    for key in data.keys() - {"steps", "legal", "help"}:
        raise OptionError(f"pipeline {path} has an unknown key '{key}'{nearest(key, ('steps', 'legal', 'help'))}")
    steps = tuple(step for item in data["steps"] for step in _steps_of_item(path, item))
    return Pipeline(path.stem, steps, tuple(data.get("legal", ())), data.get("help", ""))


def _steps_of_item(path: Path, item: Any) -> tuple[Step, ...]:
    if not isinstance(item, dict):
        raise OptionError(f"pipeline {path}: step {item!r} must be a mapping such as 'pass: canonicalize'")
    for key in item.keys() - {*STEP_KINDS, "options"}:
        raise OptionError(f"pipeline {path}: step {item} has an unknown key '{key}'{nearest(key, STEP_KINDS)}")
    kinds = [kind for kind in STEP_KINDS if kind in item]
    if len(kinds) != 1:
        raise OptionError(f"pipeline {path}: step {item} must have exactly one of: {', '.join(STEP_KINDS)}")
    kind, text, options = kinds[0], str(item[kinds[0]]), item.get("options") or {}
    if kind == "pipeline":
        return _included(path, text)
    if kind == "transform":
        text = str(find_schedule(text, path.parent))
    if kind == "pass" and not has_pass(text):
        kind = "mlir"
    return (make_step(kind, text, options),)


def _included(path: Path, name: str) -> tuple[Step, ...]:
    """The steps of the file of this name beside `path`, else of the built-in pipeline: a user's kernel.yaml may
    include ours."""
    here = path.resolve()
    for other in (path.parent / f"{name}.yaml", PIPELINES / f"{name}.yaml"):
        if other.exists() and other.resolve() != here:
            return read_pipeline(other).steps
    if here == (path.parent / f"{name}.yaml").resolve():
        raise OptionError(f"pipeline {path} includes itself")
    return load_pipeline(name).steps


def find_schedule(name: str, beside: Path = SCHEDULES) -> Path:
    """The transform-dialect file of this name: beside a pipeline, in schedules/, or a path as given."""
    for path in (beside / name, SCHEDULES / name, Path(name)):
        if path.exists():
            return path
    known = sorted(p.name for p in SCHEDULES.glob("*.mlir"))
    raise OptionError(f"no transform file '{name}'{nearest(name, known)}; built in: {', '.join(known)}")


def make_step(kind: str, text: str, options: dict[str, OptionValue]) -> Step:
    """A Step, its options checked. A pass of ours isn't imported for that: a cache key is made without MLIR."""
    step = Step(kind, text, tuple(sorted(options.items())))
    if options and kind == "pass":
        check_options(text, declared_options(text), options)
    elif options and kind == "python":
        check_options(text, step.info.options, options)
    elif options:
        raise OptionError(f"step '{kind}: {text}' takes no options here; write them as MLIR does: name{{option=value}}")
    return step


# --- text -----------------------------------------------------------------------------------------


def parse_pass_pipeline(text: str) -> tuple[Step, ...]:
    """The steps of MLIR's pipeline syntax, in which passes of ours may stand beside MLIR's.

    "builtin.module(form-rows{rows=4},transform(file.mlir),func.func(canonicalize,cse))". Passes of ours and
    transform-dialect files run on the module wherever they stand.
    """
    steps: list[Step] = []
    _parse_nested(text.strip(), (), steps)
    return tuple(steps)


def _parse_nested(text: str, anchors: tuple[str, ...], steps: list[Step]) -> None:
    pending: list[str] = []

    def flush() -> None:
        if pending:
            steps.append(Step("mlir", _wrap(anchors, ",".join(pending))))
            pending.clear()

    for item in _split(text):
        name, body, options = _parse_item(item)
        if has_pass(name):
            flush()
            steps.append(make_step("pass", name, _parse_options(name, options)))
        elif name == "transform" and body is not None:
            flush()
            steps.append(Step("transform", str(find_schedule(body.strip()))))
        elif body is not None and any(has_pass(word) for word in re.findall(r"[\w.-]+", body)):
            flush()
            _parse_nested(body, anchors if name == "builtin.module" else (*anchors, name), steps)
        elif name == "builtin.module" and body is not None and not anchors:
            pending.append(body)
        else:
            pending.append(item)
    flush()


def _wrap(anchors: tuple[str, ...], text: str) -> str:
    for anchor in reversed(anchors):
        text = f"{anchor}({text})"
    return text


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "({[<") - (char in ")}]>")
        if depth < 0:
            raise OptionError(f"pass pipeline '{text}': closing bracket without an opening one")
        if char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if depth:
        raise OptionError(f"pass pipeline '{text}': a bracket isn't closed")
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _parse_item(item: str) -> tuple[str, str | None, str]:
    """(name, nested text or None, options text) of `name`, `name{options}` or `anchor(nested)`."""
    match = re.fullmatch(r"([\w.-]+)\s*(?:\((.*)\)|\{(.*)\})?", item, re.DOTALL)
    if match is None:
        raise OptionError(f"pass pipeline: '{item}' isn't name, name{{options}} or anchor(passes)")
    return match[1], match[2], match[3] or ""


def _parse_options(name: str, text: str) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals:
            raise OptionError(f"pass '{name}': option '{word}' must be name=value")
        options[key.replace("-", "_")] = yaml.safe_load(value)
    return options
