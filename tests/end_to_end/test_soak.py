"""Endurance in small: hundreds of steps, threads that train at once, a process killed in the middle of a compile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import mlirdev

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """So small, ops are slower on more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Trainer:
    """A small network, stable enough to compare after many steps; fewer inputs than targets, so the loss stays away
    from 0."""

    def __init__(self, device: str, seed: int, width: int = 16) -> None:
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.conv, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.LayerNorm(width)
            self.first, self.second = nn.Linear(4 * 64, width), nn.Linear(width, 4)
        self.net = nn.ModuleList([self.conv, self.norm, self.first, self.second]).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)
        self.x = [torch.randn(16, 1, 8, 8, generator=generator).to(device) for _ in range(2)]
        self.y = [torch.randn(16, 4, generator=generator).to(device) for _ in range(4)]

    def step(self, i: int) -> Tensor:
        self.optimizer.zero_grad()
        hidden = torch.tanh(self.conv(self.x[i % 2])).flatten(1)
        loss = F.mse_loss(self.second(F.gelu(self.norm(self.first(hidden)))), self.y[i % 4])
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def test_hundreds_of_steps_compile_nothing_new_and_keep_nothing() -> None:
    ours, cpu = Trainer("mlirdev", 0), Trainer("cpu", 0)
    for i in range(200):
        loss, wanted = ours.step(i), cpu.step(i)
        if i % 10 == 9:
            assert loss.item() == pytest.approx(wanted.item(), rel=1e-3)
        if i == 50:
            before = mlirdev.metrics.snapshot()
            memory = torch.mlirdev.memory_allocated()  # type: ignore[attr-defined]
    after = mlirdev.metrics.snapshot()
    assert after["compiles"] == before["compiles"]
    assert after["fallbacks"] == before["fallbacks"]
    assert after["live_nodes"] == 0
    assert torch.mlirdev.memory_allocated() <= memory * 1.05  # type: ignore[attr-defined]


def test_threads_that_train_at_once_are_as_alone() -> None:
    widths = (16, 16, 24)
    losses: list[list[float]] = [[] for _ in widths]
    failed: list[BaseException] = []
    start = threading.Barrier(len(widths))

    def work(k: int, trainer: Trainer) -> None:
        try:
            start.wait()
            for i in range(6):
                loss = trainer.step(i)
                if i % 3 == 1:
                    mlirdev.sync()
                losses[k].append(loss.item())
        except BaseException as error:
            failed.append(error)

    made = [Trainer("mlirdev", k, width) for k, width in enumerate(widths)]
    threads = [threading.Thread(target=work, args=(k, trainer)) for k, trainer in enumerate(made)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for k, width in enumerate(widths):
        alone = Trainer("cpu", k, width)
        assert losses[k] == pytest.approx([alone.step(i).item() for i in range(6)], rel=1e-3)


PROGRAM = """
import torch, mlirdev
x = torch.arange(12.0).reshape(3, 4).to("mlirdev")
print("ready", flush=True)
for n in range(1, 4):
    print(torch.softmax(x[:, :n] * n, 0).cumsum(1).tanh().sum().item())
"""


def test_a_process_killed_while_it_compiles_leaves_a_good_cache(tmp_path: Path) -> None:
    """Killed when the first entry appears, then when more do; the next one is right and says nothing."""
    cache = tmp_path / "cache"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "MLIRDEV_QUIET": "1", "MLIRDEV_CACHE_DIR": str(cache)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    for entries in (1, 3):
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 120
        while process.poll() is None and len([*cache.rglob("*.*")]) < entries and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    x = torch.arange(12.0).reshape(3, 4)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert (done.stderr, done.returncode) == ("", 0)
    wanted = [torch.softmax(x[:, :n] * n, 0).cumsum(1).tanh().sum().item() for n in range(1, 4)]
    assert [float(line) for line in done.stdout.split()[1:]] == pytest.approx(wanted, rel=1e-5)
