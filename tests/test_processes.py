"""The device in processes of its own: how it is loaded, what a fork and an exit do to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORKED = (
    "Cannot re-initialize mlirdev in forked subprocess. To use mlirdev with multiprocessing, "
    "you must use the 'spawn' start method"
)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that makes Python see mlirdev as installed, with its entry point, wherever the tests run."""
    folder = tmp_path_factory.mktemp("installed")
    about = folder / "mlirdev-0.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mlirdev\nVersion: 0.0.0\n")
    (about / "entry_points.txt").write_text("[torch.backends]\nmlirdev = mlirdev:_autoload\n")
    return folder


def run(code: str, *path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))), "MLIRDEV_COMPILE": "reference"}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment | variables)


def output(code: str, *path: Path, **variables: str) -> str:
    done = run(code, *path, **variables)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


USE = "print((torch.ones(2, device='mlirdev') + 1).tolist())"


@pytest.mark.slow
def test_importing_torch_is_enough_and_loads_no_compiler(installed: Path) -> None:
    code = f"""
import sys, torch
print(torch.mlirdev.is_available(), torch.mlirdev.is_initialized())
heavy = ("torch_mlir", "llvmlite", "mlirdev.compiler", "mlirdev.runtime", "mlirdev.lazy.dispatch", "numpy.testing")
print([name for name in heavy if name in sys.modules])
torch.manual_seed(0)
print(torch.mlirdev.is_initialized())
{USE}
print(torch.mlirdev.is_initialized())
"""
    assert output(code, installed) == "True False\n[]\nFalse\n[2.0, 2.0]\nTrue\n"


@pytest.mark.slow
@pytest.mark.parametrize("first", ["torch", "mlirdev"])
@pytest.mark.parametrize("autoload", ["0", "1"])
def test_either_import_may_come_first(installed: Path, first: str, autoload: str) -> None:
    second = {"torch": "mlirdev", "mlirdev": "torch"}[first]
    code = f"import {first}\nimport {second}\n{USE}\nmlirdev.sync()\ntorch.mlirdev.synchronize()"
    assert output(code, installed, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload) == "[2.0, 2.0]\n"


@pytest.mark.slow
def test_without_autoload_nothing_is_there_until_it_is_imported(installed: Path) -> None:
    code = f"import torch\nprint(hasattr(torch, 'mlirdev'))\nimport mlirdev\n{USE}"
    assert output(code, installed, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "False\n[2.0, 2.0]\n"


@pytest.mark.slow
def test_another_backend_in_our_place_is_one_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(
        "import torch\ndef _autoload():\n    torch.utils.rename_privateuse1_backend('other')\n"
    )
    about = tmp_path / "other-0.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 0.0.0\n")
    (about / "entry_points.txt").write_text("[torch.backends]\nother = other:_autoload\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, installed, ROOT)))}
    command = [sys.executable, "-c", "import torch\nprint(hasattr(torch, 'mlirdev'), torch.ones(1).item())"]
    # Elsewhere than in the root, whose own entry point would be found first.
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("False 1.0\n", 0)
    told = [line for line in done.stderr.splitlines() if "mlirdev" in line and "Warning" in line]
    assert len(told) == 1
    assert "'other' is in it" in told[0]


@pytest.mark.slow
def test_work_that_nobody_reads_is_dropped_at_exit() -> None:
    code = """
import torch, mlirdev
x = torch.ones(2).to("mlirdev")
y = x + 1
print(mlirdev.metrics.snapshot()["graphs_run"])
"""
    assert output(code) == "0\n"


FORKS = """
import os, sys, torch, mlirdev
x = torch.ones(2).to("mlirdev") + 1
uses = (
    lambda: x.tolist(),
    lambda: (x + 1).tolist(),
    lambda: torch.ones(2, device="mlirdev").tolist(),
    lambda: torch.mlirdev.synchronize(),
    lambda: torch.mlirdev.Stream(),
    lambda: torch.mlirdev.memory_allocated(),
    lambda: mlirdev.sync(),
)
for use in uses:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        torch.manual_seed(1)
        print(torch.mlirdev._is_in_bad_fork(), torch.ones(2).sum().item())
        try:
            use()
        except RuntimeError as error:
            print(error)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
print(torch.mlirdev._is_in_bad_fork(), x.tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_told_when_it_uses_the_device() -> None:
    assert output(FORKS) == f"True 2.0\n{FORKED}\n" * 7 + "False [2.0, 2.0]\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_data_loader_forks_workers_while_a_graph_is_compiled_and_run() -> None:
    code = """
import threading, torch, mlirdev
from torch.utils.data import DataLoader, TensorDataset
x = torch.ones(8, 8).to("mlirdev")
stop = threading.Event()
def keep_busy():
    n = 1
    while not stop.is_set():
        n += 1
        (x[:, : n % 7 + 1] * 2 + n).sum().item()
busy = threading.Thread(target=keep_busy)
busy.start()
data = TensorDataset(torch.arange(64.0))
total = 0.0
for _ in range(3):
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context="fork"):
        total += batch.to("mlirdev").sum().item()
stop.set()
busy.join()
print(total)
"""
    done = run(
        code.replace("import threading", "import warnings; warnings.simplefilter('ignore')\nimport threading", 1)
    )
    assert (done.stdout, done.returncode) == ("6048.0\n", 0), done.stderr
