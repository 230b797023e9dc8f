"""The MLIR context, and pipelines run in it with their diagnostics caught."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from torch_mlir import ir
from torch_mlir.dialects import irdl
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.passmanager import PassManager

from mlirdev.dialect import IRDL
from mlirdev.errors import InternalError, LoweringError
from mlirdev.events import ComingPass, Observer, announce, no_observer, replacement
from mlirdev.override import put_in_place

TO_TORCH_BACKEND = "torchdynamo-export-to-torch-backend-pipeline{}"
TO_LINALG = "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
# The pipeline's last pass, which knows no dialect but upstream's; `check_lowered` does its work.
_CONTRACT = ",torch-verify-linalg-on-tensors-backend-contract"


def new_context() -> ir.Context:
    """A context with the dialects loaded, those of torch-mlir's that can't be registered from Python included."""
    context = ir.Context()
    torch_dialect.register_dialect(context)
    context.enable_multithreading(False)
    with context, ir.Location.unknown():
        # A pass manager loads the dialects that its passes depend on: torch_c, tm_tensor and all of linalg's.
        PassManager.parse(f"builtin.module({TO_LINALG})").run(ir.Module.create().operation)
        irdl.load_dialects(ir.Module.parse(IRDL))
    return context


@lru_cache
def to_torch_backend() -> str:
    """torch-mlir's pipeline to its backend form of the torch dialect."""
    return f"builtin.module({TO_TORCH_BACKEND})"


def to_linalg() -> str:
    """torch-mlir's pipeline to linalg, without its check of what comes out."""
    with ir.Context():
        printed = str(PassManager.parse(f"builtin.module({TO_LINALG})"))
    if _CONTRACT not in printed:
        raise InternalError("torch-mlir's pipeline to linalg doesn't end as expected")
    return printed.removeprefix("builtin.module(").removesuffix(")").replace(_CONTRACT, "")


def check_lowered(module: ir.Module) -> None:
    """Raise LoweringError for an op that torch-mlir had no lowering for."""
    left: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("torch"):
            left.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if left:
        nodes = {k for op in left for k in nodes_of(str(op.location))}
        raise LoweringError(tuple(sorted(nodes)), f"torch-mlir left {left[0].name}")


def nodes_of(location: str) -> list[int]:
    """The node ordinals K of the names "nK" in a printed location."""
    return [int(k) for k in re.findall(r'"n(\d+)"', location)]


@contextmanager
def caught() -> Iterator[None]:
    """Inside, an MLIRError leaves as a LoweringError that names the nodes."""
    try:
        yield
    except ir.MLIRError as error:
        reported = _opened(error.error_diagnostics)
        reason = next((message for message, _ in reported if message), str(error))
        nodes = {k for _, location in reported for k in nodes_of(location)}
        raise LoweringError(tuple(sorted(nodes)), first_line(reason)) from error


def _opened(diagnostics: Iterable[ir.DiagnosticInfo]) -> list[tuple[str, str]]:
    """(message, location) of the diagnostics and their notes."""
    found: list[tuple[str, str]] = []
    for d in diagnostics:
        found += [(str(d.message), str(d.location)), *_opened(d.notes)]
    return found


def first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "MLIR gave no reason"


def run_pipeline(module: ir.Module, pipeline: str, stage: str, observe: Observer) -> None:
    """Run a pipeline on the module in place; when somebody looks, pass by pass."""
    with module.context, caught():
        manager = PassManager.parse(f"builtin.module({pipeline})")
        # What is built is valid and so are torch-mlir's passes; verifying after each doubles their time.
        if observe is no_observer:
            manager.enable_verifier(False)
            manager.run(module.operation)
            return
        passes = split_passes(str(manager))
        put_in_place(module, replacement(observe, stage, "input"))
        announce(observe, stage, tuple(ComingPass("mlir", name) for name in passes), (), lambda: text_of(module))
        for name in passes:
            single = PassManager.parse(f"builtin.module({name})")
            start = time.perf_counter()
            single.run(module.operation)
            seconds = time.perf_counter() - start
            put_in_place(module, replacement(observe, stage, name))
            observe(stage, name, lambda: text_of(module), seconds)


def text_of(module: ir.Module) -> str:
    """The module with locations, as observers print it."""
    return str(module.operation.get_asm(enable_debug_info=True))


def split_passes(pipeline: str) -> list[str]:
    """The passes of "builtin.module(a,b{x=1},func.func(c,d))": nested managers are opened, one pass in each."""
    inner = pipeline[pipeline.index("(") + 1 : pipeline.rindex(")")]
    passes: list[str] = []
    for part in _split_commas(inner):
        nested = re.match(r"([\w.]+)\(", part)
        passes += [f"{nested[1]}({p})" for p in split_passes(part)] if nested else [part]
    return passes


def _split_commas(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "({[") - (char in ")}]")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]
