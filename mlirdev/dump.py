"""MLIRDEV_DUMP=folder: the IR of every graph and kernel after every pass, each as a numbered file that parses again.

    folder/<graph or kernel>/
      kernel.yaml                     the pipeline of a stage, as it ran
      004-kernel-canonicalize.mlir    the IR after a pass; its head says which, and how to go on from there
      027-ll-optimize.ll, 028-asm-codegen.s

The commands in the heads are meant for a shell in the file's own folder; the head's last line is a hash of what is
below, by which an override (override.py) tells the files that were edited. Nothing in a file depends on the time, the
machine's paths or the caller, so two runs of one program write the same files.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from mlirdev.events import ComingPass

SUFFIXES = {"ll": ".ll", "asm": ".s", "graph": ".txt", "plan": ".txt"}
COMMENTS = {".mlir": "//", ".ll": ";", ".s": "#", ".txt": "#"}

# What torch-mlir-opt knows: fewer dialects and passes than its Python package.
# fmt: off
OPT_DIALECTS = frozenset([
    "arith", "builtin", "cf", "complex", "func", "linalg", "memref", "ml_program", "scf", "tensor", "tm_tensor",
    "torch", "torch_c",
])
OPT_PASSES = frozenset([
    "canonicalize", "cse", "inline", "loop-invariant-code-motion", "memref-expand", "strip-debuginfo", "symbol-dce",
])
# fmt: on
OPT_PREFIXES = ("torch-", "convert-torch-", "refback-", "tm-tensor-", "resolve-shaped-")

# What comes after a stage's last pass: the next stage's pipeline, or a `--from` of `mlirdev compile`.
NEXT_PIPELINE = {"torch": "linalg", "linalg": "dispatch", "kernel": "llvm"}
COMPILE_FROM = {"dispatch": "dispatch", "llvm": "llvm", "ll": "ll"}


_HASH = "written as "


def is_as_dumped(text: str) -> bool:
    """Whether a file's text is as a dump wrote it. Without the line of the hash, it isn't."""
    match = re.search(rf"^(?://|;|#) {_HASH}(\w+)\n", text, re.MULTILINE)
    return match is not None and match[1] == _hash(text[match.end() :])


def _hash(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()[:16]


class FileNames:
    """The names of one compilation's files, in order."""

    def __init__(self) -> None:
        self._number = 0

    def coming(self, stage: str, pass_name: str) -> str:
        """The name of the file that comes next, if it is of this pass; "input" stands for before the first."""
        return f"{self._number:03d}-{stage}-{slug(pass_name)}{SUFFIXES.get(stage, '.mlir')}"

    def take(self, stage: str, pass_name: str) -> str:
        """The name of the next file."""
        name = self.coming(stage, pass_name)
        self._number += 1
        return name


class DumpObserver:
    """An Observer that writes what it sees to `folder/name/`; an earlier run's files there are replaced."""

    everything = True

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / name
        self._names = FileNames()
        self._stage = ""
        self._coming: tuple[ComingPass, ...] = ()
        self._done = 0
        self._pipelines: Counter[str] = Counter()
        self._pipeline = ""
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.glob("[0-9][0-9][0-9]-*"):
            old.unlink()

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        """Keep what is coming, write it as a pipeline file, and write the IR before the first pass."""
        self._stage, self._coming, self._done = stage, coming, 0
        self._pipelines[stage] += 1
        self._pipeline = pipeline_file(stage, self._pipelines[stage])
        (self._folder / self._pipeline).write_text(pipeline_yaml(coming, legal))
        self._keep(stage, "input", "before the first pass", text(), 0.0)

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        if stage != self._stage:
            self._stage, self._coming = stage, ()
        self._done += 1
        count = f" {self._done} of {len(self._coming)}" if self._coming else ""
        self._keep(stage, pass_name, f"after pass{count}: {pass_name}", text(), seconds)

    def _keep(self, stage: str, pass_name: str, what: str, text: str, seconds: float) -> None:
        """Keep the IR after a pass ("input": before the first)."""
        self._write(self._names.take(stage, pass_name), stage, what, text)

    def _write(self, file: str, stage: str, what: str, text: str) -> None:
        head = (f"stage {stage}, {what}", *self._commands(file, stage, text), _HASH + _hash(text))
        comment = COMMENTS[Path(file).suffix]
        lines = [f"{comment} {line}" for part in head for line in part.splitlines()]
        (self._folder / file).write_text("\n".join([*lines, text.rstrip(), ""]))

    def _commands(self, file: str, stage: str, text: str) -> list[str]:
        rest = self._coming[self._done :] if stage == self._stage else ()
        if not rest:
            return _after(stage, file)
        commands = [f"go on: mlirdev opt {file} --pipeline {self._pipeline} --skip {self._done}"]
        if is_for_torch_mlir_opt(rest, text):
            passes = ",".join(step.text for step in rest)
            commands.append(f"or: torch-mlir-opt {file} --pass-pipeline={shlex.quote(f'builtin.module({passes})')}")
        return commands


def pipeline_file(stage: str, number: int) -> str:
    """The file of a stage's pipeline; a stage may have several, which run one after the other, from number 1."""
    return f"{stage}.yaml" if number == 1 else f"{stage}-{number}.yaml"


def _after(stage: str, file: str) -> list[str]:
    if stage in NEXT_PIPELINE:
        return [f"go on: mlirdev opt {file} --pipeline {NEXT_PIPELINE[stage]}.yaml"]
    if stage in COMPILE_FROM:
        return [f"go on: mlirdev compile {file} --from {COMPILE_FROM[stage]} --to asm"]
    return []


def is_for_torch_mlir_opt(rest: tuple[ComingPass, ...], text: str) -> bool:
    """Whether torch-mlir's own tool has all the passes to come and reads this text."""
    if not all(step.kind == "mlir" and _is_opt_pass(bare_name(step.text)) for step in rest):
        return False
    used = set(re.findall(r"^\s*(?:[%\w:, ]+ = )?\"?([a-z_]\w*)\.\w", text, re.MULTILINE))
    return used <= OPT_DIALECTS


def _is_opt_pass(name: str) -> bool:
    return name in OPT_PASSES or name.startswith(OPT_PREFIXES)


@lru_cache(maxsize=64)
def pipeline_yaml(coming: tuple[ComingPass, ...], legal: tuple[str, ...]) -> str:
    """The passes as a pipeline file."""
    steps: list[dict[str, Any]] = [
        {step.kind: step.text, **({"options": dict(step.options)} if step.options else {})} for step in coming
    ]
    data: dict[str, Any] = {"steps": steps, **({"legal": list(legal)} if legal else {})}
    return yaml.safe_dump(data, sort_keys=False, width=1000)


def slug(pass_name: str) -> str:
    """A pass's name as part of a file name."""
    return re.sub(r"[^\w.-]+", "-", bare_name(pass_name)).strip("-")[:60] or "pass"


def bare_name(pass_name: str) -> str:
    """The name alone: "func.func(canonicalize{max-iterations=1})" gives "canonicalize", "a/b.mlir" gives "b"."""
    bare = pass_name.partition("{")[0].rstrip(")").rpartition("(")[2]
    return re.split(r"[/:]", bare)[-1].removesuffix(".mlir")
