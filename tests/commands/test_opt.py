"""`mlirdev opt`: passes in every spelling, mlir-opt's flags, listings, and errors that name line and remedy."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

import mlirdev.passes.texts  # noqa: F401  (loaded here once, not in every child process)
from mlirdev.cli import run
from mlirdev.commands.opt import command
from mlirdev.passes import upstream
from mlirdev.passes.pipeline import Step, load_pipeline, opened, pipeline_names
from mlirdev.passes.registry import pass_names
from tests.explore.records import write_record

TWICE = """\
func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  %z = arith.addf %x, %x : f32
  %w = arith.mulf %y, %z : f32
  return %w : f32
}
"""
SPLIT = f'{TWICE}// -----\nfunc.func @g(%x: f32) -> f32 {{\n  %y = "my.op"(%x) : (f32) -> f32\n  return %y : f32\n}}\n'
ERFINV = """\
func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.erfinv %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "twice.mlir").write_text(TWICE)
    return str(tmp_path / "twice.mlir")


def opt(capfd: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert run(["opt", *args]) == code
    printed = capfd.readouterr()
    return printed.out, printed.err


# --- which passes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "passes",
    [
        ("--cse",),
        ("-cse",),
        ("--cse", "--canonicalize=max-iterations=1"),
        ("--pass-pipeline", "builtin.module(func.func(cse))"),
        ("-pass-pipeline=cse",),
    ],
)
def test_passes_in_every_spelling(file: str, passes: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = opt(capfd, file, *passes)
    assert out.count("arith.addf") == 1


def test_flags_run_in_their_order(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = opt(capfd, "--recompute-cheap-producers=most_tensors=2", "--convert-func-to-llvm", file, "--cse", "--json")
    names = [result["name"] for result in json.loads(out)["passes"]]
    assert names == ["recompute-cheap-producers{most_tensors=2}", "convert-func-to-llvm", "cse"]


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(TWICE))
    assert opt(capfd, "-", "--cse")[0].count("arith.addf") == 1


def test_a_stage_of_a_record_goes_on_through_the_rest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = write_record(tmp_path / "out")
    passes = ("no-such-pass", "linalg-generalize-named-ops", "cse")
    steps = "".join(f"- mlir: func.func({name})\n" for name in passes)
    (out / "kernels" / "row-b" / "kernel.yaml").write_text(f"steps:\n{steps}")
    text, _ = opt(capfd, f"{out}:row-b:1", "--json")
    assert [result["name"] for result in json.loads(text)["passes"]] == [
        "func.func(linalg-generalize-named-ops)", "func.func(cse)",
    ]  # fmt: skip
    assert "linalg.generic" in opt(capfd, f"{out}:row-b:0", "--cse")[0]


# --- mlir-opt's flags -----------------------------------------------------------------------------


def test_ir_before_and_after(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    passes = ("--cse", "--canonicalize", "--cse")
    dumps = {
        ("--mlir-print-ir-before=cse",): 2,
        ("--mlir-print-ir-before-all",): 3,
        ("--mlir-print-ir-after", "canonicalize,cse"): 3,
        ("-mlir-print-ir-after-all",): 3,
        ("--mlir-print-ir-after-change",): 1,
    }
    for flags, count in dumps.items():
        _, err = opt(capfd, file, *passes, *flags)
        assert err.count("IR Dump") == count, flags
    _, err = opt(capfd, file, "--cse", "--mlir-print-ir-before-all")
    assert err.startswith("// -----// IR Dump Before cse //----- //\nmodule {")
    assert err.count("arith.addf") == 2


def test_forms_of_text(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert '"arith.addf"(' in opt(capfd, file, "--cse", "--mlir-print-op-generic")[0]
    assert "loc(#loc" in opt(capfd, file, "--cse", "--mlir-print-debuginfo")[0]
    local = opt(capfd, file, "--cse", "--mlir-print-debuginfo", "--mlir-print-local-scope")[0]
    assert 'loc("-":2:8)' in local


def test_large_constants_are_elided(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "constant.mlir"
    path.write_text("func.func @f() -> tensor<4xi32> {\n  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
                    "  return %c : tensor<4xi32>\n}\n")  # fmt: skip
    assert "dense<[1, 2, 3, 4]>" in opt(capfd, str(path), "--cse")[0]
    assert "[1, 2" not in opt(capfd, str(path), "--cse", "--mlir-elide-elementsattrs-if-larger=2")[0]


def test_pieces_of_a_split_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "split.mlir"
    path.write_text(SPLIT)
    _, err = opt(capfd, str(path), "--cse", "--split-input-file", code=2)
    assert f"{path}:9:15: error" in err
    out, _ = opt(capfd, str(path), "--cse", "--split-input-file", "-allow-unregistered-dialect")
    assert out.count("module {") == 2
    assert "\n// -----\n" in out
    assert '"my.op"' in out


def test_a_file_a_pass(file: str, tmp_path: Path) -> None:
    args = ["opt", file, "--cse", "--canonicalize", "--mlir-print-ir-tree-dir", str(tmp_path), "-o", "/dev/null"]
    assert run(args) == 0
    names = sorted(path.name for path in (tmp_path / "twice").iterdir())
    assert names == ["000-opt-input.mlir", "001-opt-cse.mlir", "002-opt-canonicalize.mlir", "opt.yaml"]


def test_times_and_ops(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, err = opt(capfd, file, "--cse", "--canonicalize", "--mlir-timing")
    assert [line.split()[-1] for line in err.splitlines()[2:]] == ["cse", "canonicalize", "Total"]
    first, second = json.loads(opt(capfd, file, "--cse", "--canonicalize", "--json")[0])["passes"]
    assert first["ops"]["arith.addf"] == 1
    assert (first["changed"], second["changed"]) == (True, False)


# --- listings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "kernel", "llvm"])
def test_a_dumped_pipeline_is_the_pipeline(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(opt(capfd, "--dump-pipeline", name)[0])
    dumped, built_in = load_pipeline(str(path)), load_pipeline(name)
    assert dumped.legal == built_in.legal
    again = [upstream.in_full(step) for step in opened(built_in.steps)]
    assert [upstream.in_full(step) for step in dumped.steps] == again
    steps = json.loads(opt(capfd, "--dump-pipeline", name, "--json")[0])["steps"]
    assert [step["text"] for step in steps] == [step.text for step in dumped.steps]


def test_a_targets_pipeline_is_dumped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "only_cse.yaml").write_text("steps:\n- mlir: func.func(cse)\n")
    (tmp_path / "mine.yaml").write_text("extends: host\npipelines: {kernel: only_cse.yaml, graph: graph, llvm: llvm}\n")
    out, _ = opt(capfd, "--dump-pipeline", "kernel", "--target", str(tmp_path / "mine.yaml"))
    assert out.strip() == "steps:\n- mlir: func.func(cse)"


def test_every_option_is_written_out() -> None:
    assert "max-iterations=10" in upstream.in_full(Step("mlir", "func.func(canonicalize)")).text
    assert dict(upstream.in_full(Step("pass", "recompute-cheap-producers")).options).keys() == {
        "most_ops",
        "most_tensors",
    }


def test_no_option_is_called_as_a_pass() -> None:
    options = {name.lstrip("-") for option in command.params for name in option.opts}
    assert not options & {*pass_names(), *upstream.upstream_names(), *pipeline_names()}


def test_passes_on_functions_are_nested() -> None:
    """MLIR doesn't say of these what they run on before they run; each is refused on a module."""
    with ir.Context(), ir.Location.unknown():
        for name in upstream._ON_FUNCTIONS:
            assert upstream.anchored(name) == f"func.func({name})"
            with pytest.raises(ir.MLIRError, match="unable to schedule"):
                PassManager.parse(f"builtin.module({name})").run(ir.Module.create().operation)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("{file}", "--canonicalise"), "did you mean '--canonicalize'"),
        (("{file}", "--cse", "--mlir-print-ir-after-al"), "did you mean '--mlir-print-ir-after-all'"),
        (("{file}", "--canonicalize=max-iteration=1"), "no such option max-iteration"),
        (
            ("{file}", "--recompute-cheap-producers=most=1"),
            "did you mean 'most_ops'?; its options: most_ops, most_tensors",
        ),
        (("{file}", "--pass-pipeline=func.func(cse"), "a bracket isn't closed"),
        (("{file}", "--pipeline", "kernl"), "did you mean 'kernel'"),
        (("{file}", "--pipeline", "kernel", "--cse"), "one of: --pipeline"),
        (("{file}", "--cse", "--skip", "3"), "the pipeline has 1 passes"),
        (("{file}",), "--list shows them"),
        (("--dump-pipeline", "llmv"), "did you mean 'llvm'"),
        (("no/such.mlir", "--cse"), "can't be read"),
    ],
)
def test_what_is_wrong_on_the_command_line(
    file: str, args: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert said in opt(capfd, *(arg.format(file=file) for arg in args), code=2)[1]


def test_what_does_not_parse_is_told_with_its_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(TWICE.replace("%y, %z", "%y, %q"))
    assert f"{path}:4:23: error: use of undeclared SSA value name" in opt(capfd, str(path), "--cse", code=2)[1]


def test_a_pass_that_fails_is_told_with_op_and_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "erfinv.mlir"
    path.write_text(ERFINV)
    passes = ("--convert-torch-to-linalg", "--torch-func-backend-type-conversion")
    _, err = opt(capfd, str(path), *passes, "--torch-finalizing-backend-type-conversion", code=1)
    assert "pass 'func.func(torch-finalizing-backend-type-conversion)'" in err
    assert f"{path}:2:8: error: failed to legalize operation 'torch.aten.erfinv'" in err
