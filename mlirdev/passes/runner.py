"""Run a pipeline on a module, step by step, with every step timed and shown to the observer.

MLIR's errors become PassError with its diagnostics. When nobody observes, neighbouring upstream steps run in one
PassManager. No handle to an operation outlives a step: a pass may erase what the handle refers to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Importing torch's dialect registers torch-mlir's passes.
import torch_mlir.dialects.torch  # noqa: F401
from torch_mlir import ir
from torch_mlir.dialects.transform import interpreter
from torch_mlir.passmanager import PassManager

from mlirdev.errors import MlirdevError, PassError
from mlirdev.events import ComingPass, Observer, announce, no_observer, replacement, wants_everything
from mlirdev.override import put_in_place
from mlirdev.passes.pipeline import Pipeline, Step, load_pipeline, opened
from mlirdev.passes.registry import check_options
from mlirdev.target import Target


def run_graph_pipeline(module: ir.Module, target: Target, observe: Observer = no_observer) -> None:
    """Run the target's graph pipeline on a whole graph (linalg on tensors), in place."""
    run_pipeline(module, target.pipeline("graph"), target, observe, stage="dispatch")


def run_pipeline(
    module: ir.Module,
    pipeline: str | Pipeline,
    target: Target,
    observe: Observer = no_observer,
    stage: str = "pipeline",
) -> None:
    """Run a pipeline (a name, a YAML file, pass-pipeline text, or a Pipeline) on `module`, in place.

    `observe(stage, pass_name, text, seconds)` is called after each pass. Raises OptionError before anything ran if the
    pipeline is wrong, PassError if a step fails or leaves IR that isn't valid or isn't legal at the stage's end.
    """
    pipeline = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    with module.context:
        check_steps(pipeline.steps)
        for step in _merged(pipeline.steps) if observe is no_observer else _announced(module, pipeline, stage, observe):
            start = time.perf_counter()
            run_step(module, step, target, stage)
            seconds = time.perf_counter() - start
            put_in_place(module, replacement(observe, stage, str(step)))
            observe(stage, str(step), lambda: module_text(module, observe), seconds)
        check_legal(module, pipeline, stage)


def module_text(module: ir.Module, observe: Observer) -> str:
    """The module as the observer sees it: large constants shortened, unless it wants everything."""
    limit = None if wants_everything(observe) else 64
    asm = module.operation.get_asm
    return str(asm(large_elements_limit=limit, enable_debug_info=True, assume_verified=True))


def run_step(module: ir.Module, step: Step, target: Target, stage: str) -> None:
    """Run one step and check that it left valid IR."""
    with _diagnosed(module.context, stage, str(step)):
        if step.kind == "mlir":
            # Verifies after every pass by itself.
            PassManager.parse(_on_module(step.text)).run(module.operation)
            return
        if step.kind == "transform":
            schedule = ir.Module.parse(Path(step.text).read_text())
            interpreter.apply_named_sequence(module.operation, schedule.body.operations[0], schedule)
        else:
            with ir.Location.unknown():
                step.info.run(module, target, **dict(step.options))
        module.operation.verify()


def check_steps(steps: tuple[Step, ...]) -> None:
    """Raise OptionError for a pass that MLIR doesn't know or that can't be imported; needs a current context."""
    for step in steps:
        if step.kind in ("pass", "python"):
            check_options(step.text, step.info.options, dict(step.options))
        if step.kind != "mlir":
            continue
        try:
            PassManager.parse(_on_module(step.text))
        except ValueError as error:
            said = "; ".join(line for line in str(error).splitlines() if line)
            message = f"pass pipeline '{step.text}': {said}; `mlirdev opt --list` shows passes and options"
            raise step.error(message) from error


def check_legal(module: ir.Module, pipeline: Pipeline, stage: str) -> None:
    """Raise PassError if an op of a dialect remains that isn't in the pipeline's `legal`."""
    if not pipeline.legal:
        return
    left: dict[str, int] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        name = op.name
        if name != "builtin.module" and name.partition(".")[0] not in pipeline.legal:
            left[name] = left.get(name, 0) + 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if left:
        found = ", ".join(f"{count} {name}" for name, count in sorted(left.items()))
        may = ", ".join(pipeline.legal)
        raise PassError(stage, pipeline.name, f"only {may} may remain, but there is: {found}", left)


def _merged(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps with neighbouring upstream ones joined."""
    texts: list[str] = []
    for step in steps:
        if step.kind == "mlir":
            texts.append(step.text)
            continue
        if texts:
            yield Step("mlir", ",".join(texts))
            texts = []
        yield step
    if texts:
        yield Step("mlir", ",".join(texts))


def _announced(module: ir.Module, pipeline: Pipeline, stage: str, observe: Observer) -> tuple[Step, ...]:
    """The steps pass by pass, after telling the observer what is coming."""
    steps = opened(pipeline.steps)
    coming = tuple(ComingPass(step.kind, step.text, step.options) for step in steps)
    put_in_place(module, replacement(observe, stage, "input"))
    announce(observe, stage, coming, pipeline.legal, lambda: module_text(module, observe))
    return steps


def _on_module(text: str) -> str:
    return text if text.startswith("builtin.module(") else f"builtin.module({text})"


@contextmanager
def _diagnosed(context: ir.Context, stage: str, pass_name: str) -> Iterator[None]:
    """Collect MLIR's diagnostics and raise what fails as PassError with them."""
    messages: list[str] = []

    def keep(diagnostic: ir.Diagnostic) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            notes = "".join(f"; note: {note.message}" for note in diagnostic.notes)
            messages.append(f"{diagnostic.message} at {diagnostic.location}{notes}")
        return True

    handler = context.attach_diagnostic_handler(keep)
    try:
        yield
    except MlirdevError:
        raise
    except Exception as error:
        raise PassError(stage, pass_name, "\n".join(messages) or f"{type(error).__name__}: {error}") from error
    finally:
        handler.detach()
