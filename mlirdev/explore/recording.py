"""Recording: when the record begins and ends, and the folder it is in.

    start(OUT)   the folder is looked at, listeners begin        `mlirdev run --explore`, MLIRDEV_EXPLORE, the option
    first event  the folder is made ours, the header written     so a program that never uses the device leaves nothing
    finish()     what came from a cache is lowered again, the last lines, the page     also at exit

One process writes a record: it holds a lock on record.jsonl, and a process that it starts with the same environment
isn't recorded. Lines reach the disk soon, so that a program that is killed leaves a readable record.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import sys
import threading
import time
from pathlib import Path
from typing import IO

import msgspec

from mlirdev import metrics, schema
from mlirdev.compiler import watch
from mlirdev.compiler.again import lower_again
from mlirdev.errors import OptionError
from mlirdev.explore.described import owners
from mlirdev.explore.failures import failure_line
from mlirdev.explore.header import header
from mlirdev.explore.peaks import peaks
from mlirdev.explore.record import load_record
from mlirdev.explore.recorder import Recorder
from mlirdev.explore.report import REPORT_FILE, write_report
from mlirdev.explore.trace import TRACE_FILE, write_trace
from mlirdev.options import options
from mlirdev.runtime.device import drain_devices

# Lines of which there are many wait so long before they reach the disk, unless another comes.
_MANY = (schema.Launch, schema.Copy, schema.Memory)
_FLUSH_EVERY_S = 0.25
_FOLDERS = ("graphs", "kernels")
_FILES = (schema.RECORD_FILE, TRACE_FILE, REPORT_FILE)

_current: list[Recording] = []


class BusyError(OptionError):
    """Another process writes the record in this folder."""


class Recording:
    """A record that is being made in `folder`."""

    def __init__(self, folder: Path) -> None:
        check_folder(folder)
        self.folder = folder.resolve()
        self._begin = time.perf_counter()
        self._file: IO[bytes] | None = None
        self._lock = threading.RLock()
        self._flushed = 0.0
        self._owner = os.getpid()
        self._dead = False
        self.recorder = Recorder(self.write, self.folder, self._begin)
        watch.record_to(self.folder_of_passes)

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def write(self, line: schema.AnyLine) -> None:
        """Write a line; the first one makes the folder ours."""
        with self._lock:
            file = self._opened()
            if file is None:
                return
            now = time.perf_counter()
            try:
                file.write(schema.encode(line))
                if not isinstance(line, _MANY) or now - self._flushed > _FLUSH_EVERY_S:
                    self._flushed = now
                    file.flush()
            except OSError as error:
                self._give_up(error)

    def folder_of_passes(self) -> tuple[str, float]:
        """Where compile workers write, now ours ("" where nothing is recorded), and the record's begin."""
        with self._lock:
            return str(self.folder) if self._opened() else "", self._begin

    def _opened(self) -> IO[bytes] | None:
        """The file, where this process writes the record."""
        if self._file is None and not self._dead and os.getpid() == self._owner:
            try:
                self._file = self._open()
            except (OSError, BusyError) as error:
                self._give_up(error)
        return self._file if os.getpid() == self._owner and not self._dead else None

    def _open(self) -> IO[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = _locked(self.folder / schema.RECORD_FILE)
        clear_folder(self.folder)
        file.truncate(0)
        self._header = header()
        file.write(schema.encode(self._header))
        file.flush()
        return file

    def _give_up(self, error: Exception) -> None:
        """A full disk, or a folder that another process has, ends the record, not the program."""
        self._dead = True
        print(f"mlirdev: no more is recorded of this process: {error}", file=sys.stderr)

    def finish(self, error: str = "") -> bool:
        """Write what is left; whether there is a record."""
        start = time.perf_counter()
        drain_devices()
        self.recorder.stop()
        try:
            if self.is_open:
                self._lower_again()
                self._measure()
        except KeyboardInterrupt:
            error = error or "interrupted while kernels that came from a cache were lowered again"
        watch.record_to(None)
        now = time.perf_counter()
        took = self.recorder.seconds + now - start
        self.write(schema.End(now - self._begin, metrics.snapshot(), took, error, self.recorder.left_out))
        if self._file is not None:
            self._file.close()
        return not self._dead

    def _measure(self) -> None:
        """Write the header once more, with the machine's peaks."""
        first = self._header
        best = peaks(first.processor, first.threads)
        self.write(msgspec.structs.replace(first, peak_gflops=best.gflops, peak_gbps=best.gbps))

    def _drop_attempts(self) -> None:
        """Remove the passes of graphs that were compiled otherwise in the end, when the CPU had to run some of their
        nodes; a second record, which knows that from the start, wouldn't have them. What failed stays."""
        recorder = self.recorder
        kept = {owner for executable in recorder.graphs.values() for owner in owners(executable)} | recorder.failed
        for folder in (self.folder / "graphs").glob("*/"):
            if f"graphs/{folder.name}" not in kept and folder.name.partition(".")[0] in recorder.graphs:
                _clear_owner(folder)

    def _lower_again(self) -> None:
        recorder = self.recorder
        self._drop_attempts()
        graphs = [
            name
            for name, executable in recorder.graphs.items()
            if all((self.folder / owner).exists() for owner in owners(executable))
        ]
        kernels = [name for name in recorder.kernels if (self.folder / "kernels" / name).exists()]
        observers = watch.Watch(record=str(self.folder), begin=self._begin)
        for again in lower_again(list(recorder.graphs.values()), observers, graphs, kernels):
            kernel = recorder.kernels.get(again.name)
            if isinstance(again.back, Exception):
                self.write(failure_line(self.folder, again.owner, again.back))
                continue
            if kernel is None:
                continue
            size, seconds = len(again.back.code), again.back.seconds
            self.write(msgspec.structs.replace(kernel, differs=again.differs, object_bytes=size, seconds=seconds))


def start(folder: str) -> None:
    """Begin a record. Raises OptionError for a folder that holds something else."""
    if _current:
        raise OptionError(
            f"a record is being made in {_current[0].folder}; end it first (`mlirdev.options.explore = ''`)"
        )
    _current.append(Recording(Path(folder)))
    # Behind the pool and the device, whose own exit handlers must run after it.
    atexit.register(finish)


def finish(error: str = "", always: bool = False) -> Path | None:
    """End the record that is being made, if any, and say where it is; with `always` also where nothing happened."""
    if not _current:
        return None
    recording = _current.pop()
    atexit.unregister(finish)
    if os.getpid() != recording._owner or not (recording.is_open or always):
        recording.recorder.stop()
        watch.record_to(None)
        return None
    if not recording.finish(error or _last_error()):
        return None
    write_trace(load_record(recording.folder))
    page = write_report(recording.folder)
    if not options.quiet:
        print(f"mlirdev: the record is in {recording.folder}, its page {page}", file=sys.stderr)
    return recording.folder


def follow_option() -> None:
    """Begin or end as the option `explore` says."""
    if _current and str(_current[0].folder) != str(Path(options.explore).resolve()):
        finish()
    if options.explore and not _current:
        start(options.explore)


def _last_error() -> str:
    error = getattr(sys, "last_value", None)
    return f"{type(error).__name__}: {error}" if error is not None else ""


# --- the folder -------------------------------------------------------------------------------------


def check_folder(folder: Path) -> None:
    """Raise OptionError unless the folder is new, empty, or a record."""
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"the record needs a folder, and {folder} is a file; give another name")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / schema.RECORD_FILE).is_file():
        raise OptionError(f"{folder} holds other files and no record; give an empty folder, or a new name")


def clear_folder(folder: Path) -> None:
    """Remove a former record's files, and nothing else."""
    for name in _FILES[1:]:
        (folder / name).unlink(missing_ok=True)
    for inner in _FOLDERS:
        for owner in (folder / inner).glob("*/"):
            _clear_owner(owner)


def _clear_owner(folder: Path) -> None:
    """Remove the files of a graph's or kernel's passes, and their folder if nothing else is in it."""
    for pattern in ("[0-9][0-9][0-9]-*", "*.yaml", schema.PASSES_FILE):
        for path in folder.glob(pattern):
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _locked(path: Path) -> IO[bytes]:
    """The file, open for appending and locked."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise BusyError(f"another process writes {path}") from error
    return file
