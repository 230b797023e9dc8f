"""Planted passes that are wrong, or crash, are found by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from mlirdev import compiler
from mlirdev.cli import run
from mlirdev.compiler import executables
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.pool import pool
from mlirdev.explore.bisect import Verdict, bisect
from mlirdev.explore.subject import of_graph
from mlirdev.graph import Graph
from mlirdev.options import options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from graphs import linear  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def new_workers() -> None:
    """Those started before this module don't find wrong_passes."""
    pool.close()


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path) -> Iterator[None]:
    compiler.forget()
    with options.override(cache_dir=str(tmp_path / "cache")):
        yield
    compiler.forget()


def planted(tmp_path: Path, stage: str, after: str, function: str) -> str:
    """A pipeline with a pass of wrong_passes.py in it."""
    path = tmp_path / f"{stage}.yaml"
    path.write_text(f'extends: {stage}\nedits:\n- after: {after}\n  steps: [{{python: "wrong_passes:{function}"}}]\n')
    return f"{stage}={path}"


def found(tmp_path: Path, pipeline: str, linear_search: bool = False) -> tuple[Verdict | None, list[str]]:
    said: list[str] = []
    with options.override(pipeline=pipeline):
        subject = of_graph(linear(), chosen_target(), "g")
        return bisect(subject, tmp_path / "ir", linear_search, said.append), said


def test_a_wrong_pass_behind_vectorisation_is_found(tmp_path: Path) -> None:
    verdict, said = found(tmp_path, planted(tmp_path, "kernel", "schedule-contractions", "swap_addf"))
    assert verdict is not None
    assert (verdict.stage, verdict.pass_name) == ("kernel", "wrong_passes:swap_addf")
    assert verdict.name.startswith("g-contraction-")
    assert verdict.nodes == (0, 1, 2)
    assert verdict.what.startswith("the result is wrong at [0, 0]: got ")
    assert verdict.before is not None
    assert verdict.after is not None
    assert "vector" in verdict.before.read_text()
    assert "arith.subf" in set(verdict.after.read_text().split()) - set(verdict.before.read_text().split())
    assert len(said) < 12


LINEAR = pytest.param(True, marks=pytest.mark.exhaustive)


@pytest.mark.slow
@pytest.mark.parametrize("linear_search", [False, LINEAR])
@pytest.mark.parametrize(
    ("stage", "after", "function"),
    [
        ("graph", "unpin-contraction-operands", "swap_addf"),
        ("kernel", "plan-workspace", "abort_on_tanh"),
        ("llvm", "keep-expm1", "swap_addf"),
    ],
)
def test_wrong_passes_are_found_at_every_stage(
    tmp_path: Path, stage: str, after: str, function: str, linear_search: bool
) -> None:
    verdict, _ = found(tmp_path, planted(tmp_path, stage, after, function), linear_search)
    assert verdict is not None
    assert verdict.stage == {"graph": "dispatch"}.get(stage, stage)
    assert verdict.pass_name == f"wrong_passes:{function}"
    assert ("SIGABRT" in verdict.what) == (function == "abort_on_tanh")


@pytest.mark.slow
def test_a_right_graph_has_no_wrong_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "g.txt"
    file.write_text(f"{linear()}\n")
    assert run(["bisect", str(file)]) == 0
    assert "g is right as it is compiled" in capsys.readouterr().out


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["training step", "attention", "convolution", "sort", "narrow"])
def test_ir_of_every_stage_can_be_run_and_is_right(name: str, tmp_path: Path) -> None:
    """Each stop of the front and of each kernel, taken on by the reference's tail, gives what PyTorch gives."""
    said: list[str] = []
    for number, graph in enumerate(recorded(name)):
        subject = of_graph(graph, chosen_target(), f"g{number}")
        assert bisect(subject, tmp_path / "ir", True, said.append) is None
    assert len(said) > 20
    assert {line.rpartition(": ")[2] for line in said} == {"right"}


def recorded(name: str) -> list[Graph]:
    """The graphs of a program."""
    torch.manual_seed(0)
    seen: list[Graph] = []
    with options.override(compile="reference"), pytest.MonkeyPatch.context() as patch:
        build = executables._build
        patch.setattr(executables, "_build", lambda graph, *rest: (seen.append(graph), build(graph, *rest))[1])
        PROGRAMS[name]().cpu()
    return seen


def on_device(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).to("mlirdev")


def trained() -> torch.Tensor:
    x, w = on_device(5, 7).requires_grad_(), on_device(7, 4).requires_grad_()
    F.cross_entropy(F.layer_norm(x, (7,)) @ w, torch.randint(0, 4, (5,)).to("mlirdev")).backward()
    assert w.grad is not None
    return w.grad


PROGRAMS: dict[str, Callable[[], torch.Tensor]] = {
    "training step": trained,
    "attention": lambda: F.scaled_dot_product_attention(*(on_device(2, 3, 24, 16) for _ in "qkv"), is_causal=True),
    "convolution": lambda: F.conv2d(on_device(2, 8, 10, 10), on_device(16, 8, 3, 3), on_device(16), padding=1).relu(),
    "sort": lambda: on_device(6, 30).sort(1).values.cumsum(0),
    "narrow": lambda: (on_device(64, 96).bfloat16() @ on_device(96, 64).bfloat16()).sum(0),
}


@pytest.mark.slow
def test_a_script_is_bisected_down_to_pass_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\nx = torch.ones(4, device='mlirdev') * 3\ny = torch.tanh(x) + 1\nprint(y.cpu())\n")
    pipeline = planted(tmp_path, "kernel", "linalg-to-loops", "swap_addf")
    (tmp_path / "wrong_passes.py").write_text((HERE / "wrong_passes.py").read_text())
    assert run(["bisect", "--json", "--pipeline", pipeline, "-o", str(tmp_path / "ir"), str(script)]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["stage"], verdict["pass_name"]) == ("kernel", "wrong_passes:swap_addf")
    assert f"{script}:3" in verdict["lines"].values()


def test_what_is_no_subject_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", str(tmp_path)]) == 2
    assert "is neither a reproducer (no job.json) nor a dump's folder" in capsys.readouterr().err
