"""Compile workers, seen from the parent: jobs go out, results come back as they are done.

A worker that dies or hangs costs its job a `WorkerDied`, never the program. Ctrl-C while jobs are under
way stops their workers and raises KeyboardInterrupt; the next jobs get fresh ones.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import IO, Any

from mlirdev import compile_time
from mlirdev.compiler.jobs import Work
from mlirdev.errors import MlirdevError
from mlirdev.options import options

_POLL_S = 0.1


# A process brings these upon itself.
_OWN_SIGNALS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP})


class WorkerDied(MlirdevError):
    """A worker ended, or was ended for taking too long, before it answered. `log` is what it printed last.

    `from_outside`: its job needn't be to blame. Somebody killed it, perhaps the system when memory ran out.
    """

    def __init__(self, how: str, log: str, from_outside: bool = False) -> None:
        super().__init__(f"a compile worker {how}" + (f"; its last words:\n{log}" if log else ""))
        self.how = how
        self.log = log
        self.from_outside = from_outside


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    log: IO[bytes]
    job: int = -1
    since: float = field(default_factory=time.monotonic)

    def last_words(self) -> str:
        self.log.seek(0)
        return self.log.read()[-4000:].decode(errors="replace").strip()

    def end(self) -> None:
        self.connection.close()
        if self.process.returncode is None:  # the number of one that was waited for may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


class Pool:
    """As many workers as `options.workers` says, started when needed, or ahead of that by `start`."""

    def __init__(self) -> None:
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def run(self, jobs: Sequence[Work], tick: Callable[[float, int], None]) -> Iterator[tuple[int, object]]:
        """Do the jobs; yield (position, result) as each is done. A result that is an exception is the job's.

        `tick(seconds, left)` is called now and then while waiting, on the caller's thread.
        """
        with self._lock:
            self._forget_after_fork()
            try:
                yield from self._run(jobs, tick)
            finally:
                self._drop([w for w in self._workers if w.job >= 0])

    def do(self, job: Work) -> object:
        """The result of one job, or the exception that it ended with."""
        (_, result), *_ = list(self.run([job], lambda seconds, left: None))
        return result

    def start(self, wanted: int) -> None:
        """Have so many workers, as far as the options allow: they load while there is other work."""
        with self._lock:
            self._forget_after_fork()
            self._start(wanted)

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._forget_after_fork()
            self._drop(list(self._workers))

    def _run(self, jobs: Sequence[Work], tick: Callable[[float, int], None]) -> Iterator[tuple[int, object]]:
        waiting = deque(range(len(jobs)))
        started = time.monotonic()
        busy: list[_Worker] = []
        while waiting or busy:
            for worker in self._idle(len(waiting)):
                self._send(worker, waiting.popleft(), jobs)
                busy.append(worker)
            ready = wait([w.connection for w in busy], timeout=_POLL_S)
            for worker in [w for w in busy if w.connection in ready or self._late(w)]:
                busy.remove(worker)
                job, worker.job = worker.job, -1
                yield job, self._receive(worker, worker.connection in ready)
            tick(time.monotonic() - started, len(waiting) + len(busy))

    def _idle(self, wanted: int) -> list[_Worker]:
        busy = sum(w.job >= 0 for w in self._workers)
        self._start(busy + wanted)
        return [w for w in self._workers if w.job < 0][:wanted]

    def _start(self, wanted: int) -> None:
        limit = options.workers or os.cpu_count() or 1
        while len(self._workers) < min(wanted, limit):
            self._workers.append(_start())

    def _send(self, worker: _Worker, position: int, jobs: Sequence[Work]) -> None:
        worker.job, worker.since = position, time.monotonic()
        # A worker that has died meanwhile shows as an end of file when its answer is read.
        with contextlib.suppress(BrokenPipeError):
            worker.connection.send(jobs[position])

    def _receive(self, worker: _Worker, ready: bool) -> object:
        if ready:
            try:
                answer, seconds = worker.connection.recv()
                compile_time.add(seconds)
                return answer
            except (EOFError, OSError):
                code = worker.process.wait()
                died = WorkerDied(_how(code), worker.last_words(), code < 0 and -code not in _OWN_SIGNALS)
        else:
            died = WorkerDied(f"didn't answer within {options.compile_timeout_s} s", worker.last_words())
        self._drop([worker])
        return died

    def _late(self, worker: _Worker) -> bool:
        return time.monotonic() - worker.since > options.compile_timeout_s

    def _drop(self, workers: list[_Worker]) -> None:
        for worker in workers:
            self._workers.remove(worker)
            worker.end()

    def _forget_after_fork(self) -> None:
        """A forked child must not talk to, or end, its parent's workers."""
        if os.getpid() != self._owner:
            self._workers, self._owner = [], os.getpid()


def _start() -> _Worker:
    ours, theirs = Pipe()
    log = tempfile.TemporaryFile()  # noqa: SIM115  # closed in _Worker.end
    errors = os.dup(2)
    environment = {
        **os.environ,
        "MLIRDEV_WORKER": "1",
        # Worker code must not load torch's autoload entry points, nor start threads beside the compiler.
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([p for p in sys.path if p] + [os.environ.get("PYTHONPATH", "")]).strip(
            os.pathsep
        ),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "mlirdev.compiler.worker", str(theirs.fileno()), str(errors)],
        pass_fds=[theirs.fileno(), errors],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,
    )
    theirs.close()
    os.close(errors)
    return _Worker(process, ours, log)


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    return f"was ended by {signal.Signals(-returncode).name}"


pool = Pool()
atexit.register(pool.close)
