"""Every pass that a pipeline may name: ours described by their sources, upstream's by upstream.yaml and by MLIR."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch_mlir.dialects.torch  # noqa: F401  (importing it registers torch-mlir's passes)
import yaml
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from mlirdev.passes.registry import (
    FOLDER,
    PassInfo,
    declared_options,
    find_function,
    installed_passes,
    list_passes,
)
from mlirdev.passes.runner import check_steps
from mlirdev.passes.steps import Step


@dataclass(frozen=True, slots=True)
class PassRow:
    """A pass for the list. `options` are names with their defaults as text; `anchor` is the op that it runs on, or
    "any"; `whose` is ours, upstream, or the package that brings it."""

    name: str
    help: str
    options: tuple[tuple[str, str], ...]
    anchor: str
    whose: str

    def as_data(self) -> dict[str, Any]:
        """The row as JSON holds it."""
        return {
            "name": self.name,
            "help": self.help,
            "options": dict(self.options),
            "anchor": self.anchor,
            "whose": self.whose,
        }


def all_passes() -> tuple[PassRow, ...]:
    """Ours, then those of installed packages, then MLIR's and torch-mlir's, each in order of name."""
    ours = tuple(_row(p, "ours") for p in list_passes())
    theirs = tuple(_python_row(name, reference) for name, reference in installed_passes().items())
    with ir.Context():
        upstream = tuple(_upstream_row(name, text) for name, text in upstream_names().items())
    return ours + theirs + upstream


def _row(info: PassInfo, whose: str) -> PassRow:
    options = tuple((name, str(default)) for name, default in info.options.items())
    return PassRow(info.name, info.help, options, "builtin.module", whose)


def _python_row(name: str, reference: str) -> PassRow:
    return _row(replace(find_function(reference), name=name), reference.partition(":")[0])


@lru_cache
def upstream_names() -> dict[str, str]:
    """The names of upstream passes, with what they do, or "" where only the name says it."""
    found: dict[str, str] = yaml.safe_load((FOLDER / "upstream.yaml").read_text())
    return found


def in_full(step: Step) -> Step:
    """The step with the value of every option written out. Raises OptionError for a pass that there isn't."""
    if step.kind == "pass":
        options = {**declared_options(step.text), **dict(step.options)}
        return replace(step, options=tuple(sorted(options.items())))
    if step.kind != "mlir":
        return step
    with ir.Context():
        check_steps((step,))
        printed = str(PassManager.parse(f"builtin.module({step.text})"))
    text = re.sub(r" {2,}", " ", printed).replace("{ ", "{")
    return replace(step, text=text.removeprefix("builtin.module(").removesuffix(")"))


def anchored(name: str, options: str = "") -> str:
    """An upstream pass as text that runs on a module: on each op that it is restricted to, as mlir-opt's flags do."""
    text = f"{name}{{{options}}}" if options else name
    with ir.Context():
        anchor = _anchor(name)
    return text if anchor in ("any", "builtin.module") else f"{anchor}({text})"


def _upstream_row(name: str, text: str) -> PassRow:
    printed = str(PassManager.parse(f"any({name})"))
    return PassRow(name, text or _words(name), _options(printed), _anchor(name), "upstream")


def _options(printed: str) -> tuple[tuple[str, str], ...]:
    """The options and defaults in "any(name{a=1 b={x,y}})"; a pipeline, which prints as its passes, shows none."""
    match = re.fullmatch(r"any\([\w-]+\{(.*)\}\)", printed.strip())
    words = re.findall(r"([\w-]+)=(\{[^}]*\}|\S*)", match[1]) if match else []
    return tuple((name, value) for name, value in words)


# Passes on functions of which MLIR says so only when they run.
# fmt: off
_ON_FUNCTIONS = frozenset([
    "affine-simplify-min-max", "convert-affine-for-to-gpu", "convert-arm-sme-to-llvm", "shard-partition",
    "sharding-propagation", "static-memory-planner-analysis", "torch-convert-custom-quant-op",
    "torch-finalizing-backend-type-conversion", "torch-finalizing-backend-type-conversion-for-stablehlo",
    "torch-unpack-quant-tensor", "tosa-to-linalg", "tosa-to-linalg-named",
])
# fmt: on


def _anchor(name: str) -> str:
    """What the pass is restricted to: MLIR says so when it is put on a module."""
    if name in _ON_FUNCTIONS:
        return "func.func"
    try:
        PassManager.parse(f"builtin.module({name})")
    except ValueError as error:
        restricted = re.search(r"restricted to '([\w.]+)'", str(error))
        return restricted[1] if restricted else "any"
    return "any"


def _words(name: str) -> str:
    return name.replace("-", " ").capitalize()
