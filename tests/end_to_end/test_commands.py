"""The commands as a new user types them, on a real script, and the files that a dump leaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mlirdev.cli import run

pytestmark = pytest.mark.slow  # many processes, each of which loads PyTorch

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import torch
torch.manual_seed(0)
w = torch.randn(8, 4).to("mlirdev").requires_grad_()
x = torch.randn(16, 8).to("mlirdev")
for step in range(3):
    loss = torch.softmax(x @ w, 1).square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
print(round(loss.item(), 4))
"""


def mlirdev(*args: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLIRDEV_QUIET": "1", **variables}
    command = [sys.executable, "-m", "mlirdev", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and the dumps `a` and `b` of two runs, the second with a warm cache."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "train.py").write_text(SCRIPT)
    for name in ("a", "b"):
        done = mlirdev("run", "train.py", cwd=folder, MLIRDEV_DUMP=name, MLIRDEV_CACHE_DIR=str(folder / "cache"))
        assert done.returncode == 0, done.stderr
    return folder


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def without_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? ms", "", text)


def test_a_second_run_dumps_the_same_files(dumped: Path) -> None:
    first, second = files(dumped / "a"), files(dumped / "b")
    assert len(first) > 50
    assert first.keys() == second.keys()
    assert [n for n in first if without_times(first[n]) != without_times(second[n])] == []


def test_from_any_file_of_a_dump_the_command_in_its_head_goes_on(dumped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = sorted(path for path in (dumped / "a").iterdir() if path.is_dir())
    assert any("-" not in path.name for path in folders), "no graph"
    assert any("-" in path.name for path in folders), "no kernel"
    for folder in folders:
        monkeypatch.chdir(folder)
        names = sorted(path.name for path in folder.iterdir() if "go on: " in path.read_text())
        lasts = [max(n for n in names if f"-{stage}-" in n) for stage in {n.split("-")[1] for n in names}]
        for name in sorted({*names[:: max(1, len(names) // 3)], *lasts}):
            line = next(line for line in Path(name).read_text().splitlines() if "go on: " in line)
            assert run([*shlex.split(line.partition("go on: mlirdev ")[2]), "-o", f"end of {name}"]) == 0, (
                f"{name}: {line}"
            )


def test_run_with_statistics_and_explanations(dumped: Path) -> None:
    plain = mlirdev("run", "train.py", cwd=dumped)
    told = mlirdev("run", "--stats", "--explain", "train.py", cwd=dumped)
    assert plain.stderr == ""
    assert told.stdout == plain.stdout
    assert "compiles" in told.stderr
    assert "train.py:11: item: once" in told.stderr
    counted = json.loads(mlirdev("run", "--json", "train.py", cwd=dumped).stderr)
    assert counted["syncs"]["item"] == 1
    assert counted["fallbacks"] == {}


@pytest.mark.parametrize("mode", ["eager", "blocking"])
def test_modes_print_the_same(dumped: Path, mode: str) -> None:
    assert (
        mlirdev("run", "--mode", mode, "train.py", cwd=dumped).stdout == mlirdev("run", "train.py", cwd=dumped).stdout
    )


def test_logs_are_a_line_each(dumped: Path) -> None:
    done = mlirdev("run", "train.py", cwd=dumped, MLIRDEV_LOGS="recompiles,sync,flush")
    lines = done.stderr.splitlines()
    assert all(line.startswith("mlirdev ") for line in lines)
    assert any(line.startswith("mlirdev sync: item") and "train.py:11" in line for line in lines)
    assert any(line.startswith("mlirdev flush") for line in lines)


def test_doctor_is_content(dumped: Path) -> None:
    done = mlirdev("doctor", cwd=dumped)
    assert done.returncode == 0, done.stdout
    for word in ("torch", "torch-mlir", "llvmlite", "cache", "vectors"):
        assert word in done.stdout


def test_a_target_file_of_ones_own(dumped: Path) -> None:
    shown = mlirdev("target", "show", "host", cwd=dumped).stdout
    (dumped / "mine.yaml").write_text(re.sub(r"vector_bits: .*", "vector_bits: 128", shown))
    done = mlirdev("run", "--target", "mine.yaml", "train.py", cwd=dumped)
    assert done.returncode == 0, done.stderr
    assert done.stdout == mlirdev("run", "train.py", cwd=dumped).stdout
