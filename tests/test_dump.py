"""Dumps: numbered files that parse again, whose heads name the pass and a command that goes on from there."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mlirdev.passes.texts  # noqa: F401  (loaded here once, not in every child process)
from mlirdev.cli import run
from mlirdev.dtypes import DType
from mlirdev.dump import DumpObserver, bare_name, is_for_torch_mlir_opt, slug
from mlirdev.events import ComingPass, Observers, announce
from mlirdev.graph import Graph, Node, Ref, ScalarRef, TensorSpec

KERNEL = """
func.func @kernel(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %empty = tensor.empty() : tensor<8xf32>
  %sum = linalg.add ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}
"""
TORCH_MLIR_OPT = Path(sys.executable).parent / "torch-mlir-opt"


@pytest.mark.parametrize(
    ("pass_name", "name"),
    [
        ("cse", "cse"),
        ("func.func(canonicalize{max-iterations=1})", "canonicalize"),
        ("form-rows{rows=4}", "form-rows"),
        ("schedules/tile_rows.mlir", "tile_rows"),
        ("my.passes:tile", "tile"),
    ],
)
def test_file_names_are_passes_names(pass_name: str, name: str) -> None:
    assert bare_name(pass_name) == slug(pass_name) == name


def test_a_pipeline_is_dumped_pass_by_pass(tmp_path: Path) -> None:
    observe = DumpObserver(tmp_path, "g1")
    coming = (ComingPass("pass", "form-rows", (("rows", 4),)), ComingPass("mlir", "func.func(cse)"))
    announce(observe, "kernel", coming, ("scf", "memref"), lambda: "module {}")
    observe("kernel", "form-rows{rows=4}", lambda: "module {}", 0.1)
    observe("kernel", "func.func(cse)", lambda: "module {}", 0.1)
    observe("ll", "optimize", lambda: "define void @f() { ret void }", 0.1)
    observe("asm", "codegen", lambda: "ret", 0.1)
    folder = tmp_path / "g1"
    assert sorted(p.name for p in folder.iterdir()) == [
        "000-kernel-input.mlir",
        "001-kernel-form-rows.mlir",
        "002-kernel-cse.mlir",
        "003-ll-optimize.ll",
        "004-asm-codegen.s",
        "kernel.yaml",
    ]
    assert (folder / "001-kernel-form-rows.mlir").read_text().splitlines() == [
        "// stage kernel, after pass 1 of 2: form-rows{rows=4}",
        "// go on: mlirdev opt 001-kernel-form-rows.mlir --pipeline kernel.yaml --skip 1",
        "// or: torch-mlir-opt 001-kernel-form-rows.mlir --pass-pipeline='builtin.module(func.func(cse))'",
        "// written as fd224b3138074712",
        "module {}",
    ]
    assert "mlirdev opt 002-kernel-cse.mlir --pipeline llvm.yaml" in (folder / "002-kernel-cse.mlir").read_text()
    assert (folder / "003-ll-optimize.ll").read_text().startswith("; stage ll, after pass: optimize\n; go on: ")
    assert (folder / "kernel.yaml").read_text() == (
        "steps:\n- pass: form-rows\n  options:\n    rows: 4\n- mlir: func.func(cse)\nlegal:\n- scf\n- memref\n"
    )


def test_a_stages_second_pipeline_has_a_file_of_its_own(tmp_path: Path) -> None:
    observe = DumpObserver(tmp_path, "g1")
    for name in ("cse", "canonicalize"):
        announce(observe, "linalg", (ComingPass("mlir", name),), (), lambda: "module {}")
        observe("linalg", name, lambda: "module {}", 0.1)
    folder = tmp_path / "g1"
    assert "--pipeline linalg.yaml --skip 0" in (folder / "000-linalg-input.mlir").read_text()
    assert "--pipeline linalg-2.yaml --skip 0" in (folder / "002-linalg-input.mlir").read_text()
    assert (folder / "linalg.yaml").read_text() == "steps:\n- mlir: cse\n"
    assert (folder / "linalg-2.yaml").read_text() == "steps:\n- mlir: canonicalize\n"


def test_an_earlier_runs_files_are_replaced(tmp_path: Path) -> None:
    for passes in (3, 1):
        observe = DumpObserver(tmp_path, "g1")
        for i in range(passes):
            observe("kernel", f"pass{i}", lambda: "module {}", 0.0)
    assert [p.name for p in (tmp_path / "g1").iterdir()] == ["000-kernel-pass0.mlir"]


def test_torch_mlirs_own_tool_is_named_only_where_it_can_go_on() -> None:
    upstream, ours = ComingPass("mlir", "func.func(canonicalize)"), ComingPass("pass", "form-rows")
    assert is_for_torch_mlir_opt((upstream,), '%0 = "torch.aten.add"(%1)\n  return %0')
    assert not is_for_torch_mlir_opt((upstream, ours), "module {}")
    assert not is_for_torch_mlir_opt((ComingPass("mlir", "one-shot-bufferize"),), "module {}")
    assert not is_for_torch_mlir_opt((upstream,), "  %0 = math.exp %1 : f32")


def test_several_observers_see_the_same(tmp_path: Path) -> None:
    seen: list[str] = []
    both = Observers(DumpObserver(tmp_path, "g"), lambda stage, name, text, seconds: seen.append(name))
    announce(both, "kernel", (ComingPass("mlir", "cse"),), (), lambda: "module {}")
    both("kernel", "cse", lambda: "module {}", 0.0)
    assert seen == ["cse"]
    assert len(list((tmp_path / "g").glob("*.mlir"))) == 2


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the whole kernel and llvm pipelines on a small kernel."""
    folder = tmp_path_factory.mktemp("dump")
    (folder / "k.mlir").write_text(KERNEL)
    for pipeline, source in (("kernel", "k.mlir"), ("llvm", "kernel.out")):
        args = [str(folder / source), "--pipeline", pipeline, "--mlir-print-ir-tree-dir", str(folder)]
        assert run(["opt", *args, "-o", str(folder / f"{pipeline}.out")]) == 0
    return folder


@pytest.mark.parametrize("part", ["k", "kernel"])
def test_the_commands_in_the_heads_run(dumped: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dumped / part)
    files = sorted(Path().glob("*.mlir"))
    assert len(files) > 5
    ends = set()
    for file in files:
        head = [line for line in file.read_text().splitlines() if line.startswith("// ")]
        command = next((line for line in head if line.startswith("// go on: ")), None)
        if command is None:
            continue
        assert run([*shlex.split(command.removeprefix("// go on: mlirdev ")), "-o", "end.out"]) == 0
        ends.add(Path("end.out").read_text())
    # Whichever file one goes on from, the end is the same.
    assert len(ends) == 1


def test_a_compilations_files_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph and its kernels, dumped as the compiler does it: from a sample of the files one gets to the end."""
    from mlirdev.compiler import stages
    from mlirdev.jit import resolve_target
    from mlirdev.target import load_target

    spec = TensorSpec((4, 8), DType.f32)
    nodes = (
        Node("aten.exp.default", (Ref(0),), (spec,)),
        Node("aten.mul.Scalar", (Ref(1), ScalarRef(0)), (spec,)),
    )
    graph, target = Graph((spec,), ("float",), nodes, (2,)), resolve_target(load_target("host"))
    front = stages.front(graph, target, DumpObserver(tmp_path, "graph"))
    assert isinstance(front, stages.Front)
    (source,) = front.kernels.values()
    stages.back(source, source.key, target, DumpObserver(tmp_path, "kernel"))
    for folder in (tmp_path / "graph", tmp_path / "kernel"):
        monkeypatch.chdir(folder)
        names = sorted(path.name for path in folder.iterdir() if "go on: " in path.read_text())
        lasts = [max(n for n in names if f"-{stage}-" in n) for stage in {n.split("-")[1] for n in names}]
        for name in sorted({*names[::6], *lasts}):
            line = next(line for line in Path(name).read_text().splitlines() if "go on: " in line)
            assert run([*shlex.split(line.partition("go on: mlirdev ")[2]), "-o", "end.out"]) == 0, line


def test_every_file_parses_again(dumped: Path) -> None:
    from mlirdev.passes.lower import kernel_context, parse

    with kernel_context():
        for file in dumped.rglob("*.mlir"):
            parse(file.read_text())


def test_torch_mlir_opt_runs_what_a_head_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    pipeline = "func.func(canonicalize),cse"
    args = [str(tmp_path / "k.mlir"), "--pass-pipeline", pipeline, "--mlir-print-ir-tree-dir", str(tmp_path)]
    assert run(["opt", *args, "-o", str(tmp_path / "end")]) == 0
    monkeypatch.chdir(tmp_path / "k")
    command = Path("000-opt-input.mlir").read_text().splitlines()[2].removeprefix("// or: torch-mlir-opt ")
    done = subprocess.run([TORCH_MLIR_OPT, *shlex.split(command)], capture_output=True, text=True, check=True)
    assert "linalg.add" in done.stdout
