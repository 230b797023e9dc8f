"""Who looks at the passes of a compile: a dump folder, the record, the log; a value that goes to the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlirdev.events import Observer, Observers, no_observer
from mlirdev.logs import logs_passes
from mlirdev.options import options

# Says where the passes of the record that is being made go; `explore/` sets it.
_record: list[Callable[[], tuple[str, float]]] = []


def record_to(folder: Callable[[], tuple[str, float]] | None) -> None:
    """Let compiles from now on write their passes to the record in the folder ("": to none) that this says when the
    first of them begins, with the record's begin, of time.perf_counter(); None ends it."""
    _record[:] = [folder] if folder else []


@dataclass(frozen=True)
class Watch:
    """Folders to write to, "" for none; `log` is the format of a line a pass, "" for none. `begin` is when the record
    began."""

    dump: str = ""
    record: str = ""
    begin: float = 0.0
    log: str = ""

    def observer(self, name: str, owner: str, first: Observer | None = None) -> Observer:
        """The Observer of one job, which a dump and the log know as `name`, the record as `owner`. `first` sees each
        pass before the others."""
        observers = [first] if first else []
        if self.dump:
            from mlirdev.dump import DumpObserver

            observers.append(DumpObserver(Path(self.dump), name))
        if self.record:
            from mlirdev.pass_record import PassRecorder

            observers.append(PassRecorder(Path(self.record), owner, self.begin))
        if self.log:
            from mlirdev.logs import pass_log

            observers.append(pass_log(name, self.log == "json"))
        return Observers(*observers) if observers else no_observer


NOBODY = Watch()


def watch_now() -> Watch:
    """Who looks, as the options and the recording have it."""
    folder, begin = _record[0]() if _record else ("", 0.0)
    return Watch(options.dump, folder, begin, options.logs_format if logs_passes() else "")
