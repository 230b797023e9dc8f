"""Odd places: folders that can't be written, wrong variables, other processes. One clear line each, right values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.conftest import Program

pytestmark = pytest.mark.slow  # many processes, each of which loads PyTorch

USE = "import torch\nprint((torch.ones(2, device='mlirdev') * 3).tolist())\n"
SHOWN = "[3.0, 3.0]\n"


def words(stderr: str) -> list[str]:
    """The lines of warnings, without the source line that Python shows below each."""
    return [line for line in stderr.splitlines() if line and not line.startswith(" ")]


def test_a_cache_folder_that_cannot_be_written(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = program(USE, MLIRDEV_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert (done.stdout, done.returncode) == (SHOWN, 0)
    (line,) = words(done.stderr)
    assert str(tmp_path / "file" / "cache") in line
    assert "can't be written" in line


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_a_home_folder_that_cannot_be_written(program: Program, home: str) -> None:
    done = program(USE, HOME=home, XDG_CACHE_HOME="", MLIRDEV_CACHE_DIR="")
    assert (done.stdout, done.returncode) == (SHOWN, 0)
    (line,) = words(done.stderr)
    assert home in line
    assert "MLIRDEV_CACHE_DIR" in line


def test_a_read_only_cache_serves_what_it_has(program: Program, tmp_path: Path) -> None:
    """Entries are read where nothing can be written: a folder made read-only, or another user's."""
    cache = tmp_path / "cache"
    assert program(USE, MLIRDEV_CACHE_DIR=str(cache)).stdout == SHOWN
    denied = (
        "import os, tempfile\n"
        "def no(*args, **kwargs): raise PermissionError(13, 'Permission denied')\n"
        "tempfile.mkstemp = os.utime = os.mkdir = no\n"
    )
    code = denied + USE + "import mlirdev\nprint(mlirdev.metrics.snapshot()['graph_disk_hits'])\n"
    done = program(code, MLIRDEV_CACHE_DIR=str(cache))
    assert (done.stdout, done.stderr, done.returncode) == (SHOWN + "1\n", "", 0)
    other = "import torch\nprint((torch.ones(5, device='mlirdev') - 3).tolist())\n"
    done = program(denied + other, MLIRDEV_CACHE_DIR=str(cache))
    assert done.stdout == "[-2.0, -2.0, -2.0, -2.0, -2.0]\n"
    (line,) = words(done.stderr)
    assert "Permission denied" in line


def test_a_full_disk(program: Program, tmp_path: Path) -> None:
    """Writes end in the middle, as on a full disk: right values, one line, nothing half-written; later all is well."""
    cache = tmp_path / "cache"
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
    done = program(full + USE, MLIRDEV_CACHE_DIR=str(cache))
    assert (done.stdout, done.returncode) == (SHOWN, 0)
    (line,) = words(done.stderr)
    assert str(cache) in line
    assert "can't be written (File too large)" in line
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    for _ in range(2):
        done = program(USE, MLIRDEV_CACHE_DIR=str(cache))
        assert (done.stdout, done.stderr, done.returncode) == (SHOWN, "", 0)
    assert [path for path in cache.rglob("*") if path.suffix == ".part"] == []


def test_a_cache_of_other_versions(program: Program, tmp_path: Path) -> None:
    """What another version compiled is left alone; what an entry of another format says isn't believed."""
    cache = tmp_path / "cache"
    count = "import mlirdev\nprint(mlirdev.metrics.snapshot()['compiles'])\n"
    other = "from mlirdev.compiler import fingerprint\nfingerprint._VERSIONS = ('torch',)\n"
    for code, compiles in ((other + USE, 1), (USE, 1), (other + USE, 0)):
        done = program(code + count, MLIRDEV_CACHE_DIR=str(cache))
        assert (done.stdout, done.stderr) == (f"{SHOWN}{compiles}\n", "")
    entries = sorted(cache.rglob("*.entry"))
    assert len(entries) >= 4
    for path in entries:
        path.write_bytes(path.read_bytes().replace(b"mlirdev cache entry 1", b"mlirdev cache entry 0", 1))
    done = program(USE + count, MLIRDEV_CACHE_DIR=str(cache))
    assert done.stdout == f"{SHOWN}1\n"
    assert all("damaged; it is removed and made again" in line for line in words(done.stderr))
    assert program(USE + count, MLIRDEV_CACHE_DIR=str(cache)).stdout == f"{SHOWN}0\n"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MLIRDEV_MOD", "eager", "did you mean MLIRDEV_MODE?"),
        ("MLIRDEV_MODE", "egaer", "it takes one of: lazy, eager, blocking"),
        ("MLIRDEV_WORKERS", "many", "isn't a whole number"),
        ("MLIRDEV_LOGS", "recompile", "did you mean recompiles?"),
    ],
)
def test_a_wrong_variable_is_one_line(program: Program, variable: str, value: str, said: str) -> None:
    done = program(USE, **{variable: value})
    assert (done.stdout, done.returncode) == (SHOWN, 0)
    (line,) = words(done.stderr)
    assert said in line


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("MLIRDEV_TARGET", "hots", "host"), ("MLIRDEV_PIPELINE", "kernel=no-such", "no-such")],
)
def test_a_target_or_pipeline_that_is_not_there_is_an_error_that_names_it(
    program: Program, variable: str, value: str, said: str
) -> None:
    done = program(USE, **{variable: value})
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("mlirdev.errors.OptionError")
    assert said in done.stderr.splitlines()[-1]


def test_two_processes_start_cold_on_one_cache_folder(program: Program, tmp_path: Path) -> None:
    """Both compile, both write; neither says a word, and a third finds everything."""
    code = """
import subprocess, sys
CHILD = '''
import torch, mlirdev
x = torch.arange(12.0).reshape(3, 4).to("mlirdev")
print(torch.softmax(x @ x.T, 1).sum().item(), torch.relu(x - 5).sum().item())
print(mlirdev.metrics.snapshot()["compiles"])
'''
def start():
    command = [sys.executable, "-W", "error", "-c", CHILD]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
both = [start(), start()]
for child in [*both, None]:
    out, errors = (child or start()).communicate()
    print(out.decode().split()[:2], errors.decode(), "warm" if child is None and out.decode().split()[2] == "0" else "")
"""
    done = program(code, MLIRDEV_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.splitlines() == ["['3.0', '21.0']  "] * 2 + ["['3.0', '21.0']  warm"], done.stdout


def test_quiet_and_patience(program: Program, tmp_path: Path) -> None:
    """Who waits two seconds for a compile is told, once, for which line; MLIRDEV_QUIET=1 silences it."""
    (tmp_path / "slow_pass.py").write_text("import time\ndef wait(module, target):\n    time.sleep(2.5)\n")
    (tmp_path / "slow.yaml").write_text("steps:\n- pipeline: graph\n- python: slow_pass:wait\n")
    variables = {"MLIRDEV_PIPELINE": f"graph={tmp_path}/slow.yaml", "MLIRDEV_CACHE_DIR": str(tmp_path / "cache")}
    told = program(USE, **variables, MLIRDEV_QUIET="0")
    assert told.stdout == SHOWN
    start, end = told.stderr.splitlines()
    assert start.startswith("mlirdev: compiling")
    assert "program.py:2" in start
    assert end.startswith("mlirdev: compiled")
    assert " s" in end
    silent = program(USE, **{**variables, "MLIRDEV_CACHE_DIR": str(tmp_path / "other")})
    assert (silent.stdout, silent.stderr) == (SHOWN, "")
