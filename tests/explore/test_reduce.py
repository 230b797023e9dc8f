"""Graphs that fail are made small, and stay graphs that fail."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from mlirdev.cli import run
from mlirdev.compiler import reproducer
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.pool import pool
from mlirdev.explore.reduce import reduce, with_size
from mlirdev.explore.subject import Subject, of_graph
from mlirdev.graph import Graph
from mlirdev.options import options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from graphs import chain, linear  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def new_workers() -> None:
    """Those started before this module don't find wrong_passes."""
    pool.close()


def subject(graph: Graph) -> Subject:
    return of_graph(graph, chosen_target(), "g")


def ops(graph: Graph) -> list[str]:
    return [node.op.split(".")[1] for node in graph.nodes]


@pytest.mark.parametrize("at", [0, 77, 199])
def test_one_guilty_node_of_200_is_left(at: int) -> None:
    tries: list[Subject] = []

    def fails(candidate: Subject) -> bool:
        candidate.graph.verify()
        tries.append(candidate)
        return "exp" in ops(candidate.graph)

    small = reduce(subject(chain(200, at)), fails, lambda line: None, 60)
    assert ops(small.graph) == ["exp"]
    assert set(small.graph.ints) == {2}
    assert small.graph.scalars == small.scalars == ()
    assert len(tries) < 60


def test_nodes_that_fail_together_stay_together() -> None:
    def fails(candidate: Subject) -> bool:
        return {"exp", "tanh"} <= set(ops(candidate.graph))

    small = reduce(subject(chain(60, 30)), fails, lambda line: None, 60)
    assert sorted(ops(small.graph)) in (["exp", "tanh"], ["exp", "mul", "tanh"])


def test_what_becomes_an_input_keeps_its_value() -> None:
    whole = subject(linear())

    def fails(candidate: Subject) -> bool:
        return "tanh" in ops(candidate.graph) and {9, 20} <= set(candidate.graph.ints)

    small = reduce(whole, fails, lambda line: None, 60)
    assert ops(small.graph) == ["tanh"]
    assert small.inputs[0] == whole.value(4).numpy().tobytes()


def test_sizes_that_dont_go_together_are_no_graph() -> None:
    assert with_size(subject(linear()), 17, 5) is not None
    graph = linear(9, 17)
    assert with_size(subject(graph), 17, 4) is not None
    broken = Graph(graph.inputs, (), graph.nodes[:1], (3,))
    assert with_size(subject(broken), 9, 2) is not None


def test_a_test_of_the_users_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "g.txt"
    file.write_text(f"{chain(30, 12)}\n")
    out = tmp_path / "out"
    assert run(["reduce", "--script", "grep -q aten.exp", "-q", "-o", str(out), str(file)]) == 0
    assert "30 nodes became 1:" in capsys.readouterr().out
    kept = reproducer.load(out)
    assert isinstance(kept.subject, Graph)
    assert ops(kept.subject) == ["exp"]
    with options.override(compile="inline"):
        runpy.run_path(str(out / "run.py"))
    assert capsys.readouterr().out == "result 0 is right\n"
    assert run(["reduce", "--script", "grep -q aten.sinh", str(file)]) == 2
    assert "doesn't exit with 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "count", [pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.exhaustive)]
)
def test_a_planted_crash_is_reduced(tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    file, out, pipeline = tmp_path / "g.txt", tmp_path / "out", tmp_path / "graph.yaml"
    file.write_text(f"{chain(count, count // 2)}\n")
    pipeline.write_text("steps:\n- pipeline: graph\n- python: wrong_passes:abort_on_exp\n")
    with options.override():
        command = ["reduce", "--pipeline", f"graph={pipeline}", "--fails-with", "SIGABRT", "-o", str(out), str(file)]
        assert run(command) == 0
    assert f"{count} nodes became 1:" in capsys.readouterr().out
    kept = reproducer.load(out)
    assert kept.fails == "crash"
    assert run(["repro", str(out)]) == 2
    assert "python: wrong_passes:abort_on_exp; where you trust" in capsys.readouterr().err
    assert run(["repro", "--trust", str(out)]) == 1
    assert "it fails (crash): WorkerDied" in capsys.readouterr().out
