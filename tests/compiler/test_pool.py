"""Compile workers: results come back, and nothing that happens in a worker reaches the program."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlirdev.compiler.pool import Pool, WorkerDied
from mlirdev.options import options

sys.path.insert(0, str(Path(__file__).parent))
import crashing_jobs as jobs  # by name, as the workers import it


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def results(pool: Pool, work: list[Any]) -> dict[int, object]:
    return dict(pool.run(work, lambda seconds, left: None))


def test_every_job_is_answered(pool: Pool) -> None:
    assert results(pool, [jobs.Square(n) for n in range(9)]) == {n: n * n for n in range(9)}


def test_an_exception_is_the_jobs_result(pool: Pool) -> None:
    answers = results(pool, [jobs.Fail(), jobs.Square(2)])
    assert isinstance(answers[0], ValueError)
    assert answers[1] == 4


def test_a_worker_that_aborts_costs_its_own_job(pool: Pool) -> None:
    answers = results(pool, [jobs.Abort(), *[jobs.Square(n) for n in range(1, 5)]])
    assert isinstance(answers[0], WorkerDied)
    assert not answers[0].from_outside
    assert "SIGABRT" in str(answers[0])
    assert "LLVM ERROR: as told" in answers[0].log
    assert [answers[n] for n in range(1, 5)] == [1, 4, 9, 16]


def test_a_killed_worker_is_replaced(pool: Pool) -> None:
    with options.override(workers=1):
        seen: list[object] = []

        def kill_once(seconds: float, left: int) -> None:
            if not seen and seconds > 0.5:
                seen.append(True)
                os.kill(pool._workers[0].process.pid, signal.SIGKILL)

        answers = dict(pool.run([jobs.Sleep(30), jobs.Square(3)], kill_once))
    assert isinstance(answers[0], WorkerDied)
    assert answers[0].from_outside
    assert answers[1] == 9


def test_a_hung_worker_is_given_up(pool: Pool) -> None:
    with options.override(compile_timeout_s=1):
        answers = results(pool, [jobs.Sleep(60)])
    assert isinstance(answers[0], WorkerDied)
    assert not answers[0].from_outside
    assert "within 1 s" in str(answers[0])


def test_interrupting_the_wait_leaves_a_pool_that_works(pool: Pool) -> None:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        results(pool, [jobs.Sleep(60)])
    assert time.monotonic() - started < 30
    assert results(pool, [jobs.Square(5)]) == {0: 25}


def test_workers_are_deaf_to_ctrl_c_and_free_of_torch(pool: Pool) -> None:
    answers = results(pool, [jobs.Interrupt(), jobs.Modules()])
    assert answers[0] == "alive"
    assert "torch" not in answers[1]  # type: ignore[operator]
