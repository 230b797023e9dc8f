"""MLIR's own syntax of pipelines, in which passes of ours and of packages, and transform files, may stand too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from mlirdev.errors import OptionError
from mlirdev.passes.registry import OptionValue, has_pass, installed_passes
from mlirdev.passes.schedule_files import find_schedule
from mlirdev.passes.steps import Step, make_step


def parse_pass_pipeline(text: str) -> tuple[Step, ...]:
    """The steps of MLIR's pipeline syntax, in which passes of ours may stand beside MLIR's.

    "builtin.module(form-rows{rows=4},transform(file.mlir),func.func(canonicalize,cse))". Passes of ours and
    transform-dialect files run on the module wherever they stand.
    """
    steps: list[Step] = []
    _parse_nested(text.strip(), (), steps)
    return tuple(steps)


def single_passes(text: str) -> Iterator[str]:
    """Every pass of MLIR's pipeline text by itself, each on the ops that it is nested under."""
    yield from _opened(text, ())


def _parse_nested(text: str, anchors: tuple[str, ...], steps: list[Step]) -> None:
    pending: list[str] = []

    def flush() -> None:
        if pending:
            steps.append(Step("mlir", _wrap(anchors, ",".join(pending))))
            pending.clear()

    for item in _split(text):
        name, body, options = _parse_item(item)
        if _is_known(name):
            flush()
            steps.append(make_step("pass", name, _parse_options(name, options)))
        elif name == "transform" and body is not None:
            flush()
            steps.append(Step("transform", str(find_schedule(body.strip()))))
        elif body is not None and any(_is_known(word) for word in re.findall(r"[\w.-]+", body)):
            flush()
            _parse_nested(body, anchors if name == "builtin.module" else (*anchors, name), steps)
        elif name == "builtin.module" and body is not None and not anchors:
            pending.append(body)
        else:
            pending.append(item)
    flush()


def _opened(text: str, anchors: tuple[str, ...]) -> list[str]:
    passes: list[str] = []
    for item in _split(text):
        name, body, _ = _parse_item(item)
        if body is None:
            passes.append(_wrap(anchors, item))
        else:
            passes += _opened(body, anchors if name == "builtin.module" and not anchors else (*anchors, name))
    return passes


def _is_known(name: str) -> bool:
    return has_pass(name) or name in installed_passes()


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
