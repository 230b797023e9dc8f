"""A compile that failed, as a line of the record: which pass, on which op, from which IR, how to go on from there.

What an exception doesn't say is read from the passes that were kept until then: of a worker that died, the pass that
was running is the one behind the last that was kept.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from mlirdev import schema
from mlirdev.errors import PassError

# What runs behind a stage's last pass, in a kernel's compile and in a graph's.
_NEXT = {
    ("llvm", ""): ("ll", "translate"),
    ("ll", "entry"): ("ll", "optimize"),
    ("ll", "optimize"): ("asm", "codegen"),
    ("graph", "recorded"): ("torch", "import"),
    ("dispatch", ""): ("plan", "form groups"),
}
_ORDINAL = re.compile(r'loc\("n(\d+)"')
_CURRENT = re.compile(r"see current operation: (.+?)(?:; note: |$)", re.DOTALL)
_NAMED = re.compile(r"(?:operation|op) '([\w.]+)'|'([\w.]+)' op\b")


def failure_line(folder: Path, owner: str, error: Exception, reproducer: str = "") -> schema.Failure:
    """The line of a failed compile of `owner`, whose passes are in `folder`."""
    kept = _kept(folder / owner)
    stage, name = _where(folder / owner, error, kept)
    message = error.diagnostics if isinstance(error, PassError) else f"{type(error).__name__}: {error}"
    last = kept[-1] if kept else None
    ops = last.ops if last else {}
    guilty = _NAMED.search(message)
    op_name = (guilty[1] or guilty[2]) if guilty else ""
    illegal = error.illegal if isinstance(error, PassError) and error.illegal else {}
    if not illegal and op_name in ops:
        illegal = {op_name: ops[op_name]}
    current = _CURRENT.search(message)
    return schema.Failure(
        owner=owner,
        stage=stage,
        name=name,
        message=message,
        op=current[1].strip() if current else op_name,
        ordinals=sorted({int(number) for number in _ORDINAL.findall(message)}),
        illegal=illegal,
        before=last.file if last else "",
        command=_command(last, stage),
        reproducer=reproducer,
    )


def _kept(folder: Path) -> list[schema.Pass]:
    """The passes that were kept, in order; a last line that was cut off is left out."""
    file = folder / schema.PASSES_FILE
    lines = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
    return [line for line in map(schema.decode, lines) if isinstance(line, schema.Pass)]


def _where(folder: Path, error: Exception, kept: list[schema.Pass]) -> tuple[str, str]:
    """The stage and the pass that failed."""
    if isinstance(error, PassError):
        return error.stage, error.pass_name
    if not kept:
        return "", ""
    last = kept[-1]
    steps = _steps(folder / f"{last.stage}.yaml")
    if last.index < len(steps):
        return last.stage, steps[last.index]
    return _NEXT.get((last.stage, last.name)) or _NEXT.get((last.stage, "")) or (last.stage, f"after {last.name}")


def _steps(pipeline: Path) -> list[str]:
    """The passes of a stage's pipeline, as they were written beside its files."""
    if not pipeline.is_file():
        return []
    steps = yaml.safe_load(pipeline.read_text())["steps"]
    return [next(str(text) for kind, text in step.items() if kind != "options") for step in steps]


def _command(last: schema.Pass | None, stage: str) -> str:
    """What runs the rest of the stage on the IR before the failure, in its folder."""
    if last is None:
        return ""
    if stage == last.stage and last.stage not in ("ll", "asm", "graph", "plan"):
        return f"mlirdev opt {last.file} --pipeline {stage}.yaml --skip {last.index}"
    return {
        "ll": f"mlirdev compile {last.file} --from {last.stage} --to asm",
        "asm": f"mlirdev compile {last.file} --from {last.stage} --to asm",
    }.get(stage, "")
