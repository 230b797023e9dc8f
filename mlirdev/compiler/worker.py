"""A compile worker: `python -m mlirdev.compiler.worker FD LOG`, torch-free and long-lived.

It reads pickled jobs from the connection on file descriptor FD and answers each with its result or the
exception, and the seconds it took by stage; lines of the log go to descriptor LOG, the program's standard
error. It has a session of its own, is deaf to Ctrl-C, and leaves when the parent's end closes: MLIR or LLVM
may abort here without harm to anybody's program.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection

from mlirdev import compile_time, logs
from mlirdev.compiler import stages
from mlirdev.compiler.jobs import Job

_PARENT_POLL_S = 1.0


def main(descriptor: int, log: int) -> None:
    logs.write_to(os.fdopen(log, "w"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    connection = Connection(descriptor)
    stages.load()
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        connection.send((_answer(job), compile_time.take()))


def _answer(job: Job) -> object:
    try:
        return job.run()
    except Exception as error:  # carried to the parent, which raises or handles it
        error.add_note("(in a compile worker)") if hasattr(error, "add_note") else None
        return error


def _leave_with(parent: int) -> None:
    """End the process soon after its parent, also in the middle of a compile."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
