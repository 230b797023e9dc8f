"""Ctrl-C, a killed worker and a crash in MLIR, in the middle of a compile: what the program sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import mlirdev
from mlirdev import compiler, events
from mlirdev.compiler.driver import CompileWarning
from mlirdev.compiler.pool import pool
from mlirdev.options import options

sys.path.insert(0, str(Path(__file__).parent))
import held_passes

pytestmark = pytest.mark.slow

PROGRAM_LIMIT_S = 60


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path) -> Iterator[None]:
    """Nothing is compiled yet, and workers can import the passes of this folder."""
    held_passes.flag(os.getpid()).unlink(missing_ok=True)
    pool.close()
    with options.override(cache_dir=str(tmp_path / "cache")):
        compiler.forget()
        yield
    compiler.forget()
    held_passes.flag(os.getpid()).unlink(missing_ok=True)


@pytest.fixture
def pipeline(tmp_path: Path) -> Callable[[str, str], str]:
    """The option that appends a pass of ours to a stage's pipeline."""

    def append(stage: str, function: str) -> str:
        path = tmp_path / f"my_{stage}.yaml"
        path.write_text(f"steps:\n- pipeline: {stage}\n- python: held_passes:{function}\n")
        return f"{stage}={path}"

    return append


def when_held(act: Callable[[int], None], times: int = 1) -> threading.Thread:
    """Do `act(process id of the worker)` as soon as a worker is in the pass `hold`, and so on with the next one."""
    flag = held_passes.flag(os.getpid())

    def watch() -> None:
        end, left = time.monotonic() + PROGRAM_LIMIT_S, times
        while left and time.monotonic() < end:
            if flag.exists() and flag.read_text().endswith("\n"):
                worker, left = int(flag.read_text()), left - 1
                if left:
                    flag.unlink()
                act(worker)
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize("stage", ["graph", "kernel"])
def test_ctrl_c_ends_the_wait_and_costs_nothing_else(
    stage: str, pipeline: Callable[[str, str], str], happened: list[events.Event]
) -> None:
    x = torch.arange(6.0).to("mlirdev")
    y = x * 3 + 1
    x.add_(10)
    sent: list[float] = []

    def interrupt(_: int) -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with options.override(pipeline=pipeline(stage, "hold")):
        thread = when_held(interrupt)
        with pytest.raises(KeyboardInterrupt):
            y.cpu()
        waited = time.monotonic() - sent[0]
        thread.join()
        assert waited < 20, "the pass would have held it for 120 s"
        lost = mlirdev.metrics.snapshot()["workers_lost"]
        # The same values, and those that were written in place after them, can be read now.
        assert y.tolist() == [1.0, 4.0, 7.0, 10.0, 13.0, 16.0]
        assert x.tolist() == [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    assert not [e for e in happened if isinstance(e, events.WorkerLost)]
    assert mlirdev.metrics.snapshot()["workers_lost"] == lost


def test_ctrl_c_in_a_script_ends_it_as_any_python(tmp_path: Path) -> None:
    """A user's script in a terminal: one KeyboardInterrupt, nothing about workers, and no process left behind."""
    (tmp_path / "slow.yaml").write_text("steps:\n- pipeline: graph\n- python: held_passes:hold\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nx = torch.ones(3).to('mlirdev')\nprint('ready', flush=True)\nprint((x + 1).cpu())\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": paths, "MLIRDEV_PIPELINE": f"graph={tmp_path / 'slow.yaml'}"}
    environment["MLIRDEV_CACHE_DIR"] = str(tmp_path / "cache")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    flag = held_passes.flag(process.pid)
    end = time.monotonic() + PROGRAM_LIMIT_S
    while not (flag.exists() and flag.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.05)
    worker = int(flag.read_text())
    flag.unlink()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PROGRAM_LIMIT_S)
    assert out == "ready\n"
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "worker" not in errors.replace("worker.py", "")
    assert process.returncode == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.parametrize("stage", ["graph", "kernel"])
def test_a_killed_worker_is_replaced(
    stage: str, pipeline: Callable[[str, str], str], happened: list[events.Event]
) -> None:
    """Somebody's kill -9, or a system out of memory: the job is done once more, without a word."""
    x = torch.arange(6.0).reshape(2, 3).to("mlirdev")
    with options.override(pipeline=pipeline(stage, "hold")), warnings.catch_warnings(), mlirdev.no_fallback():
        warnings.simplefilter("error")
        thread = when_held(lambda worker: os.kill(worker, signal.SIGKILL))
        result = torch.tanh(x @ x.T).cpu()
        thread.join()
    torch.testing.assert_close(result, torch.tanh(x.cpu() @ x.cpu().T))
    assert len([e for e in happened if isinstance(e, events.WorkerLost)]) == 1


def test_workers_killed_again_cost_a_word(pipeline: Callable[[str, str], str], happened: list[events.Event]) -> None:
    x = torch.arange(6.0).reshape(2, 3).to("mlirdev")
    with options.override(pipeline=pipeline("graph", "hold"), fallback="allow"):
        thread = when_held(lambda worker: os.kill(worker, signal.SIGKILL), times=2)
        with pytest.warns(CompileWarning, match=r"SIGKILL.*mlirdev repro"):
            result = torch.tanh(x @ x.T).cpu()
        thread.join()
        torch.testing.assert_close(result, torch.tanh(x.cpu() @ x.cpu().T))
        assert len([e for e in happened if isinstance(e, events.WorkerLost)]) == 2
        # The next graph compiles, without a word.
        with warnings.catch_warnings(), mlirdev.no_fallback():
            warnings.simplefilter("error")
            assert (x - 5).sum().item() == -15


@pytest.mark.parametrize("stage", ["graph", "kernel"])
def test_a_segfault_in_a_pass_costs_a_word(
    stage: str, pipeline: Callable[[str, str], str], happened: list[events.Event]
) -> None:
    x = torch.arange(6.0).to("mlirdev")
    with options.override(pipeline=pipeline(stage, "segfault"), fallback="allow"):
        with pytest.warns(CompileWarning, match="SIGSEGV") as told:
            result = (x.exp() - 1).cpu()
        folder = str(told[0].message).rpartition("mlirdev repro ")[2]
        again = subprocess.run(
            [sys.executable, "-m", "mlirdev", "repro", "--trust", folder],
            capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip
    torch.testing.assert_close(result, x.cpu().exp() - 1)
    assert [type(e) for e in happened].count(events.WorkerLost) >= 1
    assert again.returncode == 1, again.stderr
    assert "it fails (crash)" in again.stdout
    assert "SIGSEGV" in again.stdout
    assert (x.exp() - 1).numel() == 6
