"""What happens to the device at fork and at exit, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(code: str) -> subprocess.CompletedProcess[str]:
    prelude = "import atexit, os, sys, time\nfrom mlirdev.runtime import *\n"
    prelude += "device = Device(1 << 20)\nstream = device.default_stream\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, timeout=120, env=environment
    )


def test_exit_drains_the_streams() -> None:
    done = run("stream.enqueue(lambda: (time.sleep(0.2), print('drained')) and None)")
    assert (done.stdout, done.stderr, done.returncode) == ("drained\n", "", 0)


def test_an_error_that_nobody_saw_is_printed_and_makes_the_exit_code_non_zero() -> None:
    done = run("atexit.register(print, 'other handler')\nstream.enqueue(lambda: 1 / 0)\nprint('end')")
    assert done.returncode == 120
    assert done.stdout == "end\nother handler\n"
    assert "nothing waited for it" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_an_error_that_was_seen_is_not_told_again() -> None:
    code = "stream.enqueue(lambda: 1 / 0)\ntry:\n    stream.synchronize()\nexcept ZeroDivisionError:\n    print('seen')"
    done = run(code)
    assert (done.stdout, done.stderr, done.returncode) == ("seen\n", "", 0)


FORK = """
stream.enqueue(lambda: time.sleep(0.2))
pid = os.fork()
if pid == 0:
    try:
        {use}
    except RuntimeError as error:
        print(error)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stream.synchronize()
print('parent goes on')
"""
WORDS = (
    "Cannot re-initialize mlirdev in forked subprocess. To use mlirdev with multiprocessing, "
    "you must use the 'spawn' start method"
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    "use",
    [
        "stream.enqueue(print)",
        "stream.synchronize()",
        "device.synchronize()",
        "stream.query()",
        "device.new_stream()",
        "stream.record_event()",
        "device.allocator.allocate(8, stream)",
    ],
)
def test_a_forked_child_is_told_when_it_uses_the_device(use: str) -> None:
    done = run(FORK.format(use=use))
    assert done.stdout == f"{WORDS}\n0\nparent goes on\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_that_does_not_use_the_device_is_left_alone() -> None:
    done = run("buffer = device.allocator.allocate(8, stream)\n" + FORK.format(use="del buffer; print('fine')"))
    assert (done.stdout, done.stderr) == ("fine\n0\nparent goes on\n", "")


def test_ctrl_c_lets_a_task_finish() -> None:
    code = """
import signal, threading
def task():
    signal.raise_signal(signal.SIGINT)
    print('whole')
try:
    stream.run(task)
except KeyboardInterrupt:
    print('then interrupted')
stream.run(lambda: print('goes on'))
"""
    assert run(code).stdout == "whole\nthen interrupted\ngoes on\n"


def test_ctrl_c_ends_a_wait() -> None:
    code = """
import signal, threading
gate = threading.Event()
stream.enqueue(lambda: gate.wait() and None)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    stream.synchronize()
except KeyboardInterrupt:
    print('interrupted')
gate.set()
stream.synchronize()
"""
    assert run(code).stdout == "interrupted\n"
