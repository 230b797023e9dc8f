"""Teams: the threads that work on one kernel, from the OpenMP runtime that PyTorch loads."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from native import MEMREF, aligned, build, call

from mlirdev.dtypes import DType
from mlirdev.jit import Kernel, team
from mlirdev.plan import BufferParam, DimParam, Signature

pytestmark = pytest.mark.skipif(not torch.backends.openmp.is_available(), reason="PyTorch is built without OpenMP")

SIGNATURE = Signature((DimParam(),), (BufferParam((64,), DType.i64),))
HEAD = f"{MEMREF.format('error')}, i64 %thread, i64 %threads, {MEMREF.format('workspace')}, i64 %n"

# Thread t adds 1 to out[t] and then, behind a barrier, writes how many there are to out[8 + t] and the sum of out[0..8]
# to out[16 + t].
COUNTING = f"""
define i1 @wants_threads(i64 %n) {{
  %wants = icmp sge i64 %n, 100
  ret i1 %wants
}}

define void @kernel({HEAD}, {MEMREF.format("out")}) {{
  %mine = getelementptr i64, ptr %out, i64 %thread
  %old = load i64, ptr %mine
  %new = add i64 %old, 1
  store i64 %new, ptr %mine
  %address = ptrtoint ptr %out to i64
  call void @mlirdev_barrier(i64 %address)
  %second = getelementptr i64, ptr %mine, i64 8
  store i64 %threads, ptr %second
  %all = load <8 x i64>, ptr %out
  %sum = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> %all)
  %third = getelementptr i64, ptr %mine, i64 16
  store i64 %sum, ptr %third
  ret void
}}
declare void @mlirdev_barrier(i64)
declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>)
"""


@pytest.fixture(scope="module")
def counting() -> Kernel:
    return build(COUNTING, SIGNATURE)


def count(kernel: Kernel, n: int, threads: int) -> list[list[int]]:
    out = aligned(np.zeros(64, np.int64))
    call(kernel, [np.array(n, np.int64), out], aligned(np.zeros(4, np.int64)), threads=threads)
    return [out[first : first + threads].tolist() for first in (0, 8, 16)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_thread_of_a_team_runs_the_kernel_and_waits_at_barriers(counting: Kernel, threads: int) -> None:
    assert count(counting, 100, threads) == [[1] * threads, [threads] * threads, [threads] * threads]


def test_a_launch_that_is_too_small_runs_on_its_caller(counting: Kernel) -> None:
    assert count(counting, 99, 3) == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_launches_at_the_same_time_share_one_budget(counting: Kernel) -> None:
    """While a team of two is at work, another launch of three gets one thread, and one of four two."""
    waiting = f"""
define i1 @wants_threads(i64 %n) {{
  ret i1 true
}}

define void @kernel({HEAD}, {MEMREF.format("out")}) {{
  %mine = getelementptr i64, ptr %out, i64 %thread
  store atomic i64 1, ptr %mine seq_cst, align 8
  %end = getelementptr i64, ptr %out, i64 8
  br label %wait
wait:
  %go = load atomic volatile i64, ptr %end seq_cst, align 8
  %more = icmp eq i64 %go, 0
  br i1 %more, label %wait, label %done
done:
  ret void
}}
"""
    kernel = build(waiting, SIGNATURE)
    out = aligned(np.zeros(64, np.int64))
    args = [np.array(0, np.int64), out]
    first = threading.Thread(target=lambda: call(kernel, args, aligned(np.zeros(4, np.int64)), threads=2))
    first.start()
    while out[:2].tolist() != [1, 1]:
        pass
    try:
        assert count(counting, 100, 3)[0] == [1, 0, 0]
        assert count(counting, 100, 4)[0] == [1, 1, 0, 0]
    finally:
        out[8] = 1
        first.join()
    assert count(counting, 100, 3)[0] == [1, 1, 1]


def test_threads_of_the_program_may_end(counting: Kernel) -> None:
    for _ in range(20):
        in_thread(lambda: count(counting, 100, 3))
    assert count(counting, 100, 3)[0] == [1, 1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_can_use_pytorchs_threads(counting: Kernel) -> None:
    threads = max(torch.get_num_threads(), 2)
    assert count(counting, 100, threads)[0] == [1] * threads
    child = os.fork()
    if not child:
        code = 1
        try:
            torch.ones(1 << 20).sum()  # hangs where it waits for threads that stayed in the parent
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert count(counting, 100, threads)[0] == [1] * threads


def test_without_an_openmp_runtime_a_team_is_its_caller(counting: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    link = importlib.import_module("mlirdev.jit.link")  # the package has a function of this name
    monkeypatch.setattr(team, "_loaded_libraries", lambda: ["libc.so.6"])
    team.openmp_symbols.cache_clear()
    link._team.cache_clear()
    try:
        assert count(build(COUNTING, SIGNATURE), 100, 3) == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    finally:
        team.openmp_symbols.cache_clear()
        link._team.cache_clear()
    # A kernel that was linked before keeps the team that it calls.
    assert count(counting, 100, 3)[0] == [1, 1, 1]
