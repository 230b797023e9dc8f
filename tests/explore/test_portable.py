"""Where only upstream's passes and dialects are involved, a failure has a command for upstream's tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev.explore.portable import upstream_command
from mlirdev.explore.stops import Stop, read_stops
from mlirdev.passes.steps import Step

TEXT = "module {\n  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n    return %x : tensor<4xf32>\n  }\n}\n"


def stop(coming: Step, text: str = TEXT) -> Stop:
    return Stop(Path("ir/012-dispatch-cse.mlir"), "dispatch", "cse", text, frozenset(), (coming, Step("mlir", "sccp")))


def test_an_upstream_pass_on_upstream_ir_has_a_command() -> None:
    command = upstream_command(stop(Step("mlir", "func.func(canonicalize{top-down=true})")))
    assert command == (
        "torch-mlir-opt 012-dispatch-cse.mlir --pass-pipeline='builtin.module(func.func(canonicalize{top-down=true}))'"
    )


@pytest.mark.parametrize(
    ("coming", "text"),
    [
        (Step("pass", "plan-workspace"), TEXT),
        (Step("python", "mine:tile"), TEXT),
        (Step("mlir", "one-shot-bufferize"), TEXT),
        (Step("mlir", "cse"), TEXT.replace("return", "%y = mlirdev.attention %x\n    return")),
    ],
)
def test_anything_else_has_none(coming: Step, text: str) -> None:
    assert upstream_command(stop(coming, text)) is None


def test_stops_are_read_from_a_dump(tmp_path: Path) -> None:
    (tmp_path / "kernel.yaml").write_text("steps:\n- pass: destination-passing\n- mlir: func.func(cse)\n")
    (tmp_path / "000-kernel-input.mlir").write_text(f"// stage kernel, before the first pass\n{TEXT}")
    name = "destination-passing"
    (tmp_path / f"001-kernel-{name}.mlir").write_text(f"// stage kernel, after pass 1 of 2: {name}\n{TEXT}")
    (tmp_path / "002-ll-entry.ll").write_text("; stage ll, after pass: entry\n; mlirdev.workspace = 128 : i64\n")
    first, second, third = read_stops(tmp_path)
    assert [len(s.rest) for s in (first, second, third)] == [2, 1, 0]
    assert [s.stage for s in (first, second, third)] == ["kernel", "kernel", "ll"]
    assert second.pass_name == name
    assert name in third.done
    assert first.body == TEXT
    assert third.scratch == (128, 0)
    assert str(first) == "as stage 'kernel' begins"
