"""Run work in a child process, so that an abort of MLIR or LLVM ends as an error that names the pass."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TypeVar, cast

from mlirdev.errors import PassError
from mlirdev.events import ComingPass

Result = TypeVar("Result")


class Tell:
    """An Observer that tells the parent which pass is about to run."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._coming: list[str] = []

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        self._coming = [step.text for step in coming]
        self._next(stage)

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self._next(stage)

    def _next(self, stage: str) -> None:
        name = self._coming.pop(0) if self._coming else "what follows the last pass that was seen"
        self._connection.send(("pass", stage, name))


def run_in_child(work: Callable[[Tell], Result]) -> Result:
    """The result of `work`, done in a forked process; its exceptions are raised here. Raises PassError if it died."""
    parent_end, child_end = Pipe()
    pid = _fork()
    if pid == 0:
        try:
            parent_end.close()
            _answer(child_end, work)
        finally:  # whatever happens: the child must never go on as if it were the parent
            os._exit(0)
    child_end.close()
    return cast("Result", _await(parent_end, pid))


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of threads, whose locks a child could find taken; the command line has started none of its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _answer(connection: Connection, work: Callable[[Tell], object]) -> None:
    try:
        connection.send(("result", True, work(Tell(connection))))
    except BaseException as error:  # carried to the parent, which raises it
        connection.send(("result", False, error))


def _await(connection: Connection, pid: int) -> object:
    stage, name = "start", "start"
    while True:
        try:
            kind, first, second = connection.recv()
        except EOFError:
            break
        if kind == "pass":
            stage, name = first, second
            continue
        os.waitpid(pid, 0)
        if first:
            return second
        raise second
    _, status = os.waitpid(pid, 0)
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit code {status >> 8}"
    raise PassError(stage, name, f"the compiler's process died ({died}); a bug in the pass, or IR that it can't take")
