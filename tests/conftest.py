"""What all tests share: one cache folder of their own, so that a kernel is compiled once in the whole session; the
stacks of workers that crashed, at the end."""

from __future__ import annotations

import faulthandler
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's affair, which may be busy.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_STACKS = "PYTEST_STACKS"
_folders: list[str] = []
_stack: list[IO[str]] = []


@pytest.hookimpl(trylast=True)  # behind pytest's own faulthandler
def pytest_configure(config: pytest.Config) -> None:
    """Neither use nor fill the user's cache; the workers of pytest-xdist inherit the folder."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        _stack.append(open(Path(os.environ[_STACKS], worker["workerid"]), "w"))  # noqa: SIM115  # while it lives
        faulthandler.enable(_stack[0])
        return
    os.environ[_STACKS] = _new_folder()
    if "MLIRDEV_CACHE_DIR" not in os.environ:
        os.environ["MLIRDEV_CACHE_DIR"] = _new_folder()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Some libraries have Python's stacks written elsewhere as soon as they are loaded."""
    if _stack:
        faulthandler.enable(_stack[0])


def _new_folder() -> str:
    _folders.append(tempfile.mkdtemp(prefix="mlirdev-tests-"))
    return _folders[-1]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where each worker that crashed was: Python's stacks of its threads."""
    for path in sorted(Path(os.environ[_STACKS]).iterdir()):
        stack = path.read_text()
        if stack:
            terminalreporter.section(f"{path.name} crashed")
            terminalreporter.write(stack)


def pytest_unconfigure(config: pytest.Config) -> None:
    for stack in _stack:
        faulthandler.disable()
        stack.close()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First the tests that fork: once autograd has started threads in a process, its forks can't run autograd."""
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "Forked"))


@pytest.fixture
def happened() -> Iterator[list[Any]]:
    """The events of this test, as they come."""
    from mlirdev import events

    seen: list[events.Event] = []
    unsubscribe = events.subscribe(seen.append)
    yield seen
    unsubscribe()


@pytest.fixture(autouse=True)
def options_stay() -> Iterator[None]:
    """What a test sets of the options, a command's flags among them, is put back."""
    from mlirdev.options import option_fields, options

    before = {field.name: getattr(options, field.name) for field in option_fields()}
    yield
    for name, value in before.items():
        if getattr(options, name) != value:
            setattr(options, name, value)
