"""`mlirdev diff`: what is compared, what is said of it, and diff's exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import mlirdev.passes.texts  # noqa: F401  (loaded here once, not in every child process)
from mlirdev.cli import run
from tests.explore.records import INPUT, write_record

KERNEL = """\
func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return write_record(tmp_path / "out")


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def said(capsys: pytest.CaptureFixture[str], code: int, *args: str) -> str:
    assert run(["diff", *args]) == code
    return capsys.readouterr().out


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path / "a.mlir", "x\ny\n"), write(tmp_path / "b.mlir", "x\nz\n")
    assert said(capsys, 0, a, a) == ""
    assert said(capsys, 1, a, b) == f"--- {a}\n+++ {b}\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    assert json.loads(said(capsys, 1, a, b, "--json"))["hunks"][0]["lines"][1]["mark"] == "-"


def test_stages_of_a_record(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, 0, f"{out}:row-b:0", f"{out}:kernels/row-b:1") == ""
    text = said(capsys, 1, f"{out}:row-b:1", f"{out}:row-b:2")
    assert "+    scf.for %i" in text
    assert "-      linalg.yield" in text


def test_what_is_hidden_makes_no_difference(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write(tmp_path / "other.mlir", INPUT.replace('loc("n1")', 'loc("n7")').replace("%2", "%sum"))
    stage = f"{out}:row-b:0"
    assert said(capsys, 1, stage, other)
    assert said(capsys, 1, stage, other, "--hide-locations")
    assert said(capsys, 0, stage, other, "--hide-locations", "--hide-names") == ""


def test_records(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    shutil.copytree(out, other)
    assert "the same graphs, kernels, passes and IR" in said(capsys, 0, str(out), str(other))
    changed = next((other / "kernels" / "row-b").glob("002-*"))
    changed.write_text(changed.read_text().replace("addf", "mulf"))
    diff = json.loads(said(capsys, 1, str(out), str(other), "--json"))
    assert [(found["owner"], found["first"]) for found in diff["passes"]] == [("kernels/row-b", [2, 2])]
    assert "linalg-to-loops{form=scf}" in said(capsys, 1, str(out), str(other))


def test_a_kernel_of_one_record_alone(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    shutil.copytree(out, other)
    record = other / "record.jsonl"
    lines = [line for line in record.read_text().splitlines(keepends=True) if '"name":"row-b"' not in line]
    record.write_text("".join(lines))
    assert json.loads(said(capsys, 1, str(out), str(other), "--json"))["kernels"]["only_a"] == ["row-b"]


def test_a_graph_and_its_nearest(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, 1, str(out), "g_2", "--nearest")
    assert "sizes: 16 is now 32" in text
    assert "-%0: f32[16,8] = input\n+%0: f32[s0,8] = input" in text


def test_pipelines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.yaml", "steps:\n- mlir: func.func(canonicalize,cse)\n")
    b = write(tmp_path / "b.yaml", "steps:\n- mlir: func.func(cse)\n- mlir: func.func(linalg-generalize-named-ops)\n")
    assert said(capsys, 0, "--pipeline", a, a)
    text = said(capsys, 1, "--pipeline", a, b)
    assert "\n-  func.func(canonicalize)\n   func.func(cse)\n+  func.func(linalg-generalize" in text


def test_pipelines_on_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "kernel.mlir", KERNEL)
    a = write(tmp_path / "a.yaml", "steps:\n- mlir: func.func(cse)\n")
    b = write(tmp_path / "b.yaml", "steps:\n- mlir: func.func(cse)\n- mlir: func.func(linalg-generalize-named-ops)\n")
    text = said(capsys, 1, "--pipeline", a, b, file)
    assert "func.func(cse)" in text
    assert "+    %1 = linalg.generic" in text
    diff = json.loads(said(capsys, 0, "--pipeline", a, a, file, "--json"))
    assert diff["steps"] == [{"a": "func.func(cse)", "b": "func.func(cse)", "same_ir": True}]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("a.mlir",), "give two things"),
        (("no/such", "no/other"), "can't be read"),
        (("{out}:row-b:9", "{out}:row-b:0"), "its passes are 0 to 4"),
        (("{out}:row-b:last", "{out}:row-b:0"), "is no number of a pass"),
        (("{out}:rwo-b:1", "{out}:row-b:0"), "did you mean 'row-b'"),
        (("{out}", "{out}/kernels"), "holds no record.jsonl"),
        (("{out}", "g_1", "--nearest"), "the first graph of this program"),
        (("--pipeline", "kernl", "kernel"), "did you mean 'kernel'"),
        (("--pipeline", "cse,", "cse,", "{out}/record.jsonl"), "failed"),
    ],
)
def test_trouble_is_2(out: Path, args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *(arg.format(out=out) for arg in args)]) == 2
    assert message in capsys.readouterr().err
