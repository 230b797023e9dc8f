"""`mlirdev compile`: graphs with run-time sizes, stages of a record, several targets, JSON; more in test_cli.py."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from llvmlite import binding as llvm

import mlirdev.importer
import mlirdev.passes.texts  # noqa: F401  (loaded here once, not in every child process)
from mlirdev.cli import run
from mlirdev.commands.lowering import Keep
from mlirdev.compiler.stages import front
from mlirdev.graph_text import parse_graph
from mlirdev.jit import resolve_target
from mlirdev.target import load_target
from tests.explore.records import write_record

GRAPH = """\
%0: s0x4xf32 = input
%1: s0x4xf32 = input
s0 = size
%2: s0x4xf32 = aten.mul.Tensor(%0, %1)  // n0
%3: s0x4xf32 = aten.relu.default(%2)  // n1
return %3
"""
LOOPS = """\
module attributes {mlirdev.workspace = 0 : i64, mlirdev.thread_workspace = 0 : i64} {
  func.func @kernel(%error: memref<4xi64>, %thread: index, %threads: index, %scratch: memref<?xi8>,
                    %x: memref<4xf32>, %y: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    %0 = memref.load %x[%c0] : memref<4xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %y[%c0] : memref<4xf32>
    return
  }
}
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """The text of a graph, as a dump has it."""
    path = tmp_path / "000-graph-recorded.txt"
    path.write_text(f"# stage graph, after pass: recorded\n{GRAPH}")
    return path


def made(capfd: pytest.CaptureFixture[str], *args: str) -> str:
    assert run(["compile", *args]) == 0, capfd.readouterr().err
    return capfd.readouterr().out


def made_json(capfd: pytest.CaptureFixture[str], *args: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(made(capfd, *args, "--json"))
    return found


def test_a_recorded_graph_is_compiled_as_a_program_compiles_it(graph: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = front(parse_graph(GRAPH), resolve_target(load_target("host")))
    (kernel,) = made_json(capfd, str(graph), "--from", "graph", "--to", "kernel")
    assert [kernel["name"]] == [source.name for source in result.kernels.values()]


def test_a_graph_with_run_time_sizes_goes_on_from_each_stage(graph: Path, capfd: pytest.CaptureFixture[str]) -> None:
    objects = []
    for stage in ("torch", "linalg", "dispatch"):
        file = graph.with_name(f"{stage}.mlir")
        assert run(["compile", str(graph), "--from", "graph", "--to", stage, "-o", str(file)]) == 0
        objects += made_json(capfd, str(file), "--from", stage, "--to", "asm")
    assert len({result["text"] for result in objects}) == 1
    assert "kernel_entry:" in objects[0]["text"]


def test_without_its_graph_a_run_time_size_is_refused(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "g.mlir"
    assert run(["compile", str(graph), "--from", "graph", "--to", "dispatch", "-o", str(file)]) == 0
    args = ["compile", str(file), "--from", "dispatch", "--to", "kernel", "-o", str(tmp_path)]
    assert run(args) == 1
    assert run([*args, "--graph", str(graph)]) == 0


def test_a_stage_of_a_record_says_itself_what_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = write_record(tmp_path / "out")
    (result,) = made_json(capfd, f"{out}:row-b:0", "--to", "obj")
    assert (result["name"], result["stage"], result["target"]) == ("row-b", "obj", "host")
    assert llvm.ObjectFileRef.from_data(base64.b64decode(result["base64"]))
    assert "kernel" in made(capfd, f"{out}:row-b:3", "--to", "asm")
    assert run(["compile", f"{out}:row-b:4", "--to", "ll"]) == 2


def test_from_the_middle_of_a_stage_the_rest_is_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = write_record(tmp_path / "out")
    folder = out / "kernels" / "row-b"
    next(folder.glob("002-*")).write_text(LOOPS)
    steps = "".join(f"- mlir: func.func({name})\n" for name in ("no-such-pass", "nor-this", "cse"))
    (folder / "kernel.yaml").write_text(f"steps:\n{steps}")
    assert "kernel_entry:" in made(capfd, f"{out}:row-b:2", "--to", "asm")


def test_several_targets(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = write_record(tmp_path / "out")
    args = (f"{out}:row-b:0", "--to", "asm", "--target", "host", "--target", "aarch64")
    host, arm = made_json(capfd, *args)
    assert [host["name"], arm["name"]] == ["row-b.host", "row-b.aarch64"]
    assert "vmov" in host["text"]
    assert "fadd" in arm["text"]
    files = [result["file"] for result in made_json(capfd, *args, "-o", str(tmp_path / "both"))]
    assert [Path(file).name for file in files] == ["row-b.host.s", "row-b.aarch64.s"]
    assert Path(files[1]).read_text().rstrip() == arm["text"].rstrip()
    assert "# ----- row-b.aarch64\n" in made(capfd, *args)


def test_assembly_is_assembled(tmp_path: Path) -> None:
    (tmp_path / "a.s").write_text("\t.globl\tf\nf:\n\tretq\n")
    assert run(["compile", str(tmp_path / "a.s"), "--from", "asm", "--to", "obj", "-o", str(tmp_path / "a.o")]) == 0
    llvm.ObjectFileRef.from_data((tmp_path / "a.o").read_bytes())


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("{graph}", "--to", "asm"), 2, "say with --from"),
        (("{graph}", "--from", "linalg", "--to", "asm"), 2, ":1:1: error"),
        (("{graph}", "--from", "asm", "--to", "obj"), 1, "pass 'assemble' of stage 'asm'"),
        (("{graph}", "--from", "kernel", "--to", "graph"), 2, "'graph' is not one of"),
        (("{graph}", "--from", "graph", "--to", "asm", "--target", "hots"), 2, "host"),
        (("{bad}", "--from", "graph", "--to", "asm"), 2, "bad.txt"),
    ],
)
def test_what_is_wrong(
    graph: Path, args: tuple[str, ...], code: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = graph.with_name("bad.txt")
    bad.write_text(GRAPH.replace("%0, %1", "%0, %9"))
    assert run(["compile", *(arg.format(graph=graph, bad=bad) for arg in args)]) == code
    assert said in capfd.readouterr().err


def test_keep_keeps_by_stage_and_pass() -> None:
    seen = Keep()
    seen("asm", "codegen", lambda: "ret", 0.0)
    assert seen.texts == {"asm/codegen": "ret"}
