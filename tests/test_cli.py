"""The command line, each command on something small; heavy work runs in the commands' own child processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding as llvm

import mlirdev.passes.texts  # noqa: F401  (loaded here once, not in every child process)
from mlirdev.cli import COMMANDS, run
from mlirdev.commands.child import Tell, run_in_child
from mlirdev.errors import OptionError, PassError
from mlirdev.events import ComingPass
from mlirdev.options import options

ROOT = Path(__file__).parent.parent
KERNEL = """
func.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
GRAPH = KERNEL.replace("@kernel", "@main")


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "kernel.mlir").write_text(KERNEL)
    return str(tmp_path / "kernel.mlir")


def python(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mlirdev", *args]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}, check=False
    )


# --- the frame ------------------------------------------------------------------------------------


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        assert "Usage: mlirdev" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["nosuch"], 2, "No such command"),
        (["opt", "no/such.mlir", "--pipeline", "kernel"], 2, "can't be read"),
        (["opt", __file__], 2, "--pass-pipeline"),
        (["target", "show", "hots"], 2, "built in: "),
        (["compile", "x", "--from", "ll", "--to", "kernel"], 2, "doesn't come after"),
        (["repro", "no-such-folder"], 2, "does not exist"),
    ],
)
def test_exit_codes(args: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == code
    assert said in capsys.readouterr().err


# --- run ------------------------------------------------------------------------------------------


def test_run_is_like_python(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("WORD = 'helped'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, helper\nprint(__name__, __file__ == sys.argv[0], sys.argv[1:], helper.WORD)\nsys.exit(3)\n"
    )
    done = python("run", "--json", str(script), "--stats", "x")
    assert done.returncode == 3
    assert done.stdout.split() == ["__main__", "True", "['--stats',", "'x']", "helped"]
    assert json.loads(done.stderr)["compiles"] == 0


def test_run_shows_the_scripts_own_frames_alone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f():\n    raise ValueError('mine')\nf()\n")
    done = python("run", "--stats", str(script))
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr
    assert "runpy" not in done.stderr
    assert "ops_recorded" in done.stderr


def test_run_sets_options(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from mlirdev.options import options, origin\nprint(options.mode, origin('mode'))\n")
    assert python("run", "--mode", "blocking", str(script)).stdout.split() == ["blocking", "program"]


# --- opt ------------------------------------------------------------------------------------------


def test_opt_runs_a_pipeline_on_the_standard_input(kernel: str) -> None:
    command = [sys.executable, "-m", "mlirdev", "opt", "-", "--pass-pipeline=func.func(linalg-generalize-named-ops)"]
    done = subprocess.run(command, input=KERNEL, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "linalg.generic" in done.stdout


def test_opt_names_the_nearest_pipeline(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["opt", kernel, "--pipeline", "kernl"]) == 2
    assert "did you mean 'kernel'" in capsys.readouterr().err


def test_opt_skips(kernel: str, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text("steps:\n- mlir: func.func(no-such-pass-would-fail)\n- mlir: func.func(cse)\n")
    assert run(["opt", kernel, "--pipeline", str(pipeline), "-o", str(tmp_path / "out")]) == 2
    assert run(["opt", kernel, "--pipeline", str(pipeline), "--skip", "1", "-o", str(tmp_path / "out")]) == 0
    assert "linalg.add" in (tmp_path / "out").read_text()


def test_opt_prints_what_changed_and_times(kernel: str) -> None:
    passes = "--pass-pipeline=func.func(cse,linalg-generalize-named-ops,cse)"
    done = python("opt", kernel, passes, "--mlir-print-ir-after-change", "--mlir-timing")
    assert done.stderr.count("IR Dump After") == 1
    assert "loc(" not in done.stderr
    assert done.stderr.count("func.func(cse)\n") == 2
    assert "100.0%)  Total" in done.stderr


def test_opt_lists_ours_and_upstreams(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["opt", "--list", "--json"]) == 0
    passes = {p["name"]: p for p in json.loads(capsys.readouterr().out)}
    assert passes["destination-passing"]["whose"] == "ours"
    assert all(p["help"] for p in passes.values())
    assert passes["canonicalize"]["options"]["max-iterations"] == "10"
    assert passes["convert-torch-to-linalg"]["anchor"] == "func.func"


def test_opt_dumps_pipelines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["opt", "--list-pipelines"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"graph", "kernel", "llvm"} <= set(names)
    assert run(["opt", "--dump-pipeline", "llvm"]) == 0
    assert "convert-func-to-llvm" in capsys.readouterr().out


def test_the_list_of_upstream_passes_has_every_pass_that_our_pipelines_name() -> None:
    from mlirdev.dump import bare_name
    from mlirdev.passes.pipeline import load_pipeline, opened, pipeline_names
    from mlirdev.passes.upstream import upstream_names

    steps = [step for name in pipeline_names() for step in opened(load_pipeline(name).steps)]
    assert {bare_name(step.text) for step in steps if step.kind == "mlir"} <= set(upstream_names())


# --- a child that dies ----------------------------------------------------------------------------


def test_a_child_that_dies_names_the_pass_that_ran() -> None:
    def work(tell: Tell) -> str:
        tell.begin("kernel", (ComingPass("mlir", "cse"), ComingPass("mlir", "bad-pass")), (), str)
        tell("kernel", "cse", str, 0.0)
        os.kill(os.getpid(), signal.SIGKILL)
        return "not reached"

    with pytest.raises(PassError, match=r"bad-pass.*SIGKILL"):
        run_in_child(work)


def test_a_childs_exception_is_raised_here() -> None:
    def work(tell: Tell) -> str:
        raise OptionError("wrong")

    with pytest.raises(OptionError, match="wrong"):
        run_in_child(work)


# --- compile --------------------------------------------------------------------------------------


def test_compile_a_kernel_to_each_stage(kernel: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = {"llvm": "llvm.func", "ll": "define", "asm": "kernel_entry:"}
    for goal, word in shown.items():
        assert run(["compile", kernel, "--from", "kernel", "--to", goal, "-o", str(out)]) == 0
        assert word in out.read_text()
    assert run(["compile", kernel, "--from", "kernel", "--to", "obj", "-o", str(out)]) == 0
    llvm.ObjectFileRef.from_data(out.read_bytes())


def test_compile_goes_on_from_what_it_wrote(kernel: str, tmp_path: Path) -> None:
    files = [kernel, str(tmp_path / "a.mlir"), str(tmp_path / "a.ll"), str(tmp_path / "a.s")]
    for source, goal, before, after in zip(
        ("kernel", "llvm", "ll"), ("llvm", "ll", "asm"), files, files[1:], strict=False
    ):
        assert run(["compile", before, "--from", source, "--to", goal, "-o", after]) == 0
    assert "kernel:" in Path(files[-1]).read_text()


def test_compile_a_graph_to_its_kernels(tmp_path: Path) -> None:
    (tmp_path / "graph.mlir").write_text(GRAPH)
    args = ["compile", str(tmp_path / "graph.mlir"), "--from", "linalg"]
    assert run([*args, "--to", "kernel", "-o", str(tmp_path / "k.mlir")]) == 0
    assert "@kernel" in (tmp_path / "k.mlir").read_text()
    assert run([*args, "--to", "asm", "-o", str(tmp_path / "k.s")]) == 0
    assert "kernel_entry:" in (tmp_path / "k.s").read_text()


def test_compile_says_what_is_wrong_with_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, said in (("func.func @kernel(", "bad.mlir:1:18: error"), ("module {}", "no func.func @kernel")):
        (tmp_path / "bad.mlir").write_text(text)
        assert run(["compile", str(tmp_path / "bad.mlir"), "--from", "kernel", "--to", "llvm"]) == 2
        assert said in capsys.readouterr().err


def test_compile_takes_run_time_sizes(tmp_path: Path) -> None:
    """With the attribute that dumped kernels have, the entry point is there; without, the kernel alone."""
    text = """
func.func @kernel(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {mlirdev.dims = array<i64: 1, 1>} {
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
    (tmp_path / "k.mlir").write_text(text)
    out = tmp_path / "k.s"
    assert run(["compile", str(tmp_path / "k.mlir"), "--from", "kernel", "--to", "asm", "-o", str(out)]) == 0
    assert "kernel_entry:" in out.read_text()


# --- target, env, doctor --------------------------------------------------------------------------


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["target", "list", "--json"]) == 0
    assert "host" in {target["name"] for target in json.loads(capsys.readouterr().out)}
    assert run(["target", "show", "host", "--resolve", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["llvm"]["vector_bits"] >= 128


def test_env_says_where_values_come_from() -> None:
    found = {o["option"]: o for o in json.loads(python("env", "--json", MLIRDEV_MODE="eager").stdout)}
    assert (found["mode"]["value"], found["mode"]["from"]) == ("eager", "environment")
    assert found["workers"]["from"] == "default"
    assert "MLIRDEV_SYNC" in python("env").stdout


def test_doctor_finds_that_the_libraries_fit(tmp_path: Path) -> None:
    from mlirdev.commands import doctor

    assert all(finding.ok for finding in doctor.versions())
    assert doctor.compilation().ok, doctor.compilation().found
    assert "vectors of" in doctor.processor().found
    with options.override(cache_dir=str(tmp_path / "cache")):
        assert doctor.cache().ok


def test_doctor_says_when_the_cache_cannot_be_written(tmp_path: Path) -> None:
    from mlirdev.commands import doctor

    (tmp_path / "file").write_text("")
    with options.override(cache_dir=str(tmp_path / "file" / "cache")):
        finding = doctor.cache()
    assert not finding.ok
    assert "MLIRDEV_CACHE_DIR" in finding.remedy


def test_targets_are_checked_with_all_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("clockmhz: 3\nllvm:\n  vector_bits: wide\n")
    assert run(["target", "validate", "host", str(bad)]) == 1
    said = capsys.readouterr()
    assert "host: fine" in said.out
    assert "bad.yaml:1: unknown key 'clockmhz'" in said.err
    assert "bad.yaml:3: 'llvm.vector_bits' is 'wide'" in said.err
    bad.write_text("pipelines: {graph: graph, kernel: kernal, llvm: llvm}\n")
    assert run(["target", "validate", str(bad)]) == 1
    assert "did you mean 'kernel'" in capsys.readouterr().err
    bad.write_text("pipelines: {graph: graph, kernel: own.yaml, llvm: llvm}\n")
    (tmp_path / "own.yaml").write_text("steps:\n- {mlir: cse}\n- {mlir: func.func(one-shot-bufferize)}\n")
    assert run(["target", "validate", str(bad)]) == 1
    assert "own.yaml:3: pass pipeline" in capsys.readouterr().err


def test_a_value_of_the_target_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["target", "show", "host", "--set", "llvm.vector_bits=128", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["llvm"]["vector_bits"] == 128
    assert run(["target", "schema"]) == 0
    assert "clock_mhz" in capsys.readouterr().out
