"""How a program ends: what was launched is drained, what nobody read is dropped, an error nobody saw is told."""

from __future__ import annotations

import pytest

from tests.end_to_end.conftest import Program

pytestmark = pytest.mark.slow

# Registered before mlirdev is imported, so it runs after mlirdev's own handlers.
LAST = "import os\nos.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'\nimport atexit, torch\n"


def test_unread_work_is_dropped_uncompiled(program: Program) -> None:
    code = LAST + (
        "atexit.register(lambda: print(mlirdev.metrics.snapshot()['compiles'], "
        "mlirdev.metrics.snapshot()['graphs_run']))\n"
        "import mlirdev\n"
        "x = torch.ones(4, 4).to('mlirdev')\n"
        "y = torch.tanh(x @ x)\n"
    )
    done = program(code)
    assert (done.stdout, done.stderr, done.returncode) == ("0 0\n", "", 0)


def test_launched_streams_are_drained(program: Program) -> None:
    code = LAST + (
        "atexit.register(lambda: print(host[0, 0].item()))\n"
        "import mlirdev\n"
        "host = torch.zeros(600, 600).pin_memory()\n"
        "x = torch.ones(600, 600).to('mlirdev')\n"
        "for _ in range(20):\n"
        "    x = (x @ x) * (1 / 600)\n"
        "host.copy_(x, non_blocking=True)\n"
        "mlirdev.sync()\n"
    )
    done = program(code)
    assert (done.stderr, done.returncode) == ("", 0)
    assert abs(float(done.stdout) - 1) < 1e-3


def test_an_error_that_nobody_waited_for_is_printed_with_its_line(program: Program) -> None:
    code = """\
import torch, mlirdev
table = torch.ones(4, 2).to("mlirdev")
rows = torch.nn.functional.embedding(torch.tensor([9]).to("mlirdev"), table)
mlirdev.sync()
print("end")
"""
    done = program(code)
    assert done.stdout == "end\n"
    assert done.returncode not in (0, None)
    assert "nothing waited for it" in done.stderr
    assert "IndexError" in done.stderr
    assert "program.py:3" in done.stderr


def test_an_error_that_was_caught_is_not_told_again(program: Program) -> None:
    code = """\
import torch
table = torch.ones(4, 2).to("mlirdev")
try:
    torch.nn.functional.embedding(torch.tensor([9]).to("mlirdev"), table).cpu()
except IndexError:
    print("caught")
"""
    done = program(code)
    assert (done.stdout, done.stderr, done.returncode) == ("caught\n", "", 0)


def test_an_exception_of_the_programs_own_is_the_only_thing_told(program: Program) -> None:
    code = "import torch\nx = torch.ones(4).to('mlirdev') + 1\nraise KeyError('mine')\n"
    done = program(code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "KeyError: 'mine'"
    assert done.stderr.count("Traceback") == 1
