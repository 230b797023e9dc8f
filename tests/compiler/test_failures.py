"""What goes wrong while compiling costs a fallback and a word; values stay right and the process alive."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mlirdev import compiler
from mlirdev.compiler import reproducer
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.driver import CompileWarning
from mlirdev.compiler.fingerprint import graph_key
from mlirdev.compiler.pool import WorkerDied, pool
from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.events import Event, GraphCompiled, subscribe
from mlirdev.graph import Graph, Node, Ref
from mlirdev.lazy.host import run_in_memory
from mlirdev.options import options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from harness import Array, add_graph, matmul_graph, run, spec  # noqa: E402


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[Path]:
    """A cache folder, and graphs, of this test alone."""
    compiler.set_host_executor(run_in_memory)
    with options.override(cache_dir=str(tmp_path / "cache")):
        compiler.forget()
        yield tmp_path / "cache"
    compiler.forget()


def array(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def pipeline_with(tmp_path: Path, function: str) -> str:
    path = tmp_path / f"{function}.yaml"
    path.write_text(f"steps:\n- pipeline: graph\n- python: crashing_passes:{function}\n")
    return f"graph={path}"


def test_a_graph_runs() -> None:
    x = array(3, 5)
    (result,), executable = run(add_graph(3, 5), [x], [2.5])
    assert not executable.host
    np.testing.assert_allclose(result, x + np.float32(2.5))


@pytest.mark.parametrize("function", ["abort", "fail"])
def test_a_failing_pass_costs_a_fallback(tmp_path: Path, function: str) -> None:
    x = array(4, 4)
    with options.override(pipeline=pipeline_with(tmp_path, function)):
        with pytest.warns(CompileWarning, match="mlirdev repro") as caught:
            (result,), executable = run(add_graph(4, 4), [x], [1.0])
        folder = str(caught[0].message).rpartition("mlirdev repro ")[2]
        again = reproducer.run(Path(folder))
    np.testing.assert_allclose(result, x + 1)
    assert list(executable.host) == [0]
    assert isinstance(again, WorkerDied if function == "abort" else PassError)


def test_a_damaged_cache_entry_is_compiled_again(own_cache: Path) -> None:
    x = array(2, 3)
    run(add_graph(2, 3), [x], [1.0])
    entries = [p for p in own_cache.rglob("*") if p.is_file()]
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-7] + b"damaged")
    compiler.forget()
    with pytest.warns(RuntimeWarning, match="damaged"):
        (result,), executable = run(add_graph(2, 3), [x], [3.0])
    assert not executable.host
    np.testing.assert_allclose(result, x + 3)


def compiled_events() -> tuple[list[GraphCompiled], object]:
    seen: list[GraphCompiled] = []

    def listen(event: Event) -> None:
        if isinstance(event, GraphCompiled):
            seen.append(event)

    return seen, subscribe(listen)


def test_the_disk_cache_serves_the_next_process() -> None:
    seen, stop = compiled_events()
    for _ in range(2):
        compiler.forget()
        run(matmul_graph(4, 5, 6), [array(4, 5), array(5, 6)])
    stop()  # type: ignore[operator]
    assert [e.from_disk for e in seen] == [False, True]
    assert [e.kernels_compiled for e in seen] == [1, 0]


def test_an_edited_pass_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = tmp_path / "edited_plugin.py"
    pipeline = tmp_path / "mine.yaml"
    pipeline.write_text("steps:\n- pipeline: graph\n- python: edited_plugin:nothing\n")
    keys = []
    for body in ("pass", "return None"):
        plugin.write_text(f'def nothing(module, target):\n    """Help."""\n    {body}\n')
        compiler.forget()
        with options.override(pipeline=f"graph={pipeline}"):
            keys.append(graph_key(add_graph(2), chosen_target()))
    assert keys[0] != keys[1]


def test_sizes_that_change_cost_one_generalised_graph() -> None:
    executables = []
    for m in range(2, 9):
        a, b = array(m, 5), array(5, 6)
        (result,), executable = run(matmul_graph(m, 5, 6), [a, b])
        np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-5)
        executables.append(executable)
    assert len({id(e) for e in executables}) == 2


TWO = """
import sys, warnings
sys.path.insert(0, {here!r})
from harness import *
x = np.arange(12, dtype=np.float32).reshape(3, 4)
for n in range(3):
    (result,), executable = run(matmul_graph(3, 4, 5 + n), [x, np.ones((4, 5 + n), np.float32)])
    assert not executable.host
    np.testing.assert_allclose(result, x @ np.ones((4, 5 + n), np.float32))
assert "torch_mlir" not in sys.modules, "MLIR belongs in the workers"
"""


def test_two_processes_share_a_cache(own_cache: Path) -> None:
    program = TWO.format(here=str(HERE))
    environment = {
        "MLIRDEV_CACHE_DIR": str(own_cache),
        "MLIRDEV_QUIET": "1",
        "PYTHONPATH": ":".join(p for p in sys.path if p),
    }
    processes = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert not errors


def inverse_graph(n: int) -> Graph:
    """An op whose lowering needs the size of its matrix."""
    result = (spec(n, n), spec(dtype=DType.i32))
    node = Node("aten.linalg_inv_ex.default", (Ref(0), False), result)
    return Graph((spec(n, n),), (), (node,), (1,))


def test_where_sizes_must_be_fixed_generalising_is_tried_once() -> None:
    seen, stop = compiled_events()
    for n in range(2, 6):
        x = array(n, n) + 4 * np.eye(n, dtype=np.float32)
        (result,), executable = run(inverse_graph(n), [x])
        np.testing.assert_allclose(result @ x, np.eye(n), atol=1e-5)
        assert not executable.host
    stop()  # type: ignore[operator]
    assert [e.generalised for e in seen] == [False, True, False, False, False]


def test_passes_are_logged_from_the_workers(capfd: pytest.CaptureFixture[str]) -> None:
    pool.close()  # a worker keeps the standard error that it was started with
    with options.override(logs="passes"):
        run(add_graph(7), [array(7)], [1.0])
    pool.close()
    lines = capfd.readouterr().err.splitlines()
    assert any(line.startswith("mlirdev passes: g_") and line.endswith(" ms") for line in lines)


def test_a_pipeline_may_include_the_built_in_one_of_its_name(tmp_path: Path) -> None:
    mine = tmp_path / "kernel.yaml"
    mine.write_text("steps:\n- pipeline: kernel\n- python: crashing_passes:nothing\n")
    with options.override(pipeline=f"kernel={mine}"):
        (result,), executable = run(add_graph(5), [array(5)], [2.0])
    assert not executable.host
    np.testing.assert_allclose(result, array(5) + 2)
