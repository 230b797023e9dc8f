"""A compile that fails leaves a line that says where, on what, and how to go on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch

import mlirdev
from mlirdev import compiler
from mlirdev.cli import run
from mlirdev.compiler.driver import CompileWarning
from mlirdev.compiler.pool import WorkerDied, pool
from mlirdev.errors import PassError
from mlirdev.events import ComingPass, announce
from mlirdev.explore.failures import failure_line
from mlirdev.explore.record import load_record
from mlirdev.pass_record import PassRecorder

IR = 'func.func @kernel(%x: memref<4xf32>) {\n  "vector.gather"(%x) : (memref<4xf32>) -> ()\n  return\n}\n'
COMING = (ComingPass("mlir", "func.func(cse)"), ComingPass("pass", "loops", (("form", 1),)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A record in which a kernel's compile got as far as its first pass."""
    observe = PassRecorder(tmp_path, "kernels/row-1")
    announce(observe, "kernel", COMING, (), lambda: IR)
    observe("kernel", "func.func(cse)", lambda: IR, 0.1)
    return tmp_path


def test_a_worker_died_in_the_next_pass(folder: Path) -> None:
    failure = failure_line(folder, "kernels/row-1", WorkerDied("was ended by SIGABRT", "assertion"), "reproducer")
    assert (failure.stage, failure.name, failure.reproducer) == ("kernel", "loops", "reproducer")
    assert failure.before == "000-kernel-input.mlir"  # the pass before it changed nothing
    assert failure.command == "mlirdev opt 000-kernel-input.mlir --pipeline kernel.yaml --skip 1"
    assert "SIGABRT" in failure.message


def test_mlirs_words_name_the_op_and_its_place(folder: Path) -> None:
    said = "failed to legalize operation 'vector.gather' that was explicitly marked illegal at loc(\"n3\")"
    error = PassError("kernel", "loops", f"{said}; note: see current operation: %1 = vector.gather(%0) : f32")
    failure = failure_line(folder, "kernels/row-1", error)
    assert failure.op == "%1 = vector.gather(%0) : f32"
    assert failure.ordinals == [3]
    assert failure.illegal == {"vector.gather": 1}


def test_what_was_left_is_counted(folder: Path) -> None:
    error = PassError("kernel", "kernel", "only scf may remain, but there is: 2 linalg.fill", {"linalg.fill": 2})
    assert failure_line(folder, "kernels/row-1", error).illegal == {"linalg.fill": 2}


@pytest.mark.parametrize(
    ("stage", "name", "follows"),
    [("ll", "entry", ("ll", "optimize")), ("ll", "optimize", ("asm", "codegen")), ("odd", "x", ("odd", "after x"))],
)
def test_behind_a_stages_end(tmp_path: Path, stage: str, name: str, follows: tuple[str, str]) -> None:
    PassRecorder(tmp_path, "kernels/a")(stage, name, lambda: "", 0.0)
    failure = failure_line(tmp_path, "kernels/a", WorkerDied("died", ""))
    assert (failure.stage, failure.name) == follows


def test_nothing_was_kept(tmp_path: Path) -> None:
    assert failure_line(tmp_path, "graphs/a", RuntimeError("odd")).message == "RuntimeError: odd"


def test_a_failing_pass_is_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = tmp_path / "mine.yaml"
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "compiler")
    pipeline.write_text("steps:\n- pipeline: graph\n- python: crashing_passes:fail\n")
    compiler.forget()
    pool.close()  # new workers have the path
    options = {"pipeline": f"graph={pipeline}", "explore": str(tmp_path / "out"), "cache_dir": str(tmp_path / "cache")}
    options |= {"quiet": True, "fallback": "allow"}
    with mlirdev.options.override(**options), pytest.warns(CompileWarning):
        assert (torch.ones(3, device="mlirdev") * 3 + 1).sum().item() == 12
    record = load_record(tmp_path / "out")
    (failure,) = record.failures
    assert (failure.stage, failure.name) == ("dispatch", "crashing_passes:fail")
    assert (record.folder / failure.owner / failure.before).is_file()
    assert failure.reproducer
    monkeypatch.chdir(record.folder / failure.owner)
    with mlirdev.options.override(pipeline=options["pipeline"]):
        assert run(shlex.split(failure.command)[1:]) == 1
