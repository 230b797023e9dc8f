"""Log lines on stderr: one line an event, of the kinds that the option `logs` (MLIRDEV_LOGS) names.

MLIRDEV_LOGS=recompiles,sync,fallback,flush,passes; with MLIRDEV_LOGS_FORMAT=json each is a JSON object, for machines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TextIO

from mlirdev import events
from mlirdev.options import options, split_list

# Where lines go: None is the process's standard error, whatever that is by then.
_stream: list[TextIO | None] = [None]


def write_to(stream: TextIO) -> None:
    """Write lines to `stream` from now on: a compile worker's own standard error isn't the program's."""
    _stream[0] = stream


def _write(kind: str, line: str, fields: Mapping[str, Any] | None = None) -> None:
    """One line: words, or with `fields` a JSON object."""
    text = f"mlirdev {kind}: {line}" if fields is None else json.dumps({"kind": kind, **fields})
    print(text, file=_stream[0] or sys.stderr, flush=True)


def say(kind: str, line: str) -> None:
    """Write one line, whatever is wanted."""
    _write(kind, line)


def logs_passes() -> bool:
    """Whether each pass is logged."""
    return "passes" in split_list(options.logs)


def pass_log(graph: str, as_json: bool = False) -> events.Observer:
    """An Observer that logs each pass of the compilation of `graph` with its time; for who asked `logs_passes`."""

    def observe(stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        fields = {"graph": graph, "stage": stage, "pass": pass_name, "seconds": seconds}
        _write("passes", f"{graph} {stage}/{pass_name} {seconds * 1e3:.2f} ms", fields if as_json else None)

    return observe


def describe(event: events.Event) -> tuple[str, str] | None:
    """The kind and the line of an event; None for one that isn't logged."""
    if isinstance(event, events.GraphCompiled):
        source = "from disk" if event.from_disk else f"{event.kernels_compiled}/{event.kernels} kernels compiled"
        reason = f"; {event.reason}" if event.reason else ""
        return "recompiles", f"{event.graph[:12]} {source} in {event.seconds:.2f} s{_at(event.where)}{reason}"
    if isinstance(event, events.Sync):
        return "sync", f"{event.cause} {event.seconds * 1e3:.2f} ms{_at(event.where)}"
    if isinstance(event, events.Fallback):
        return "fallback", f"{event.op} ({event.cause}){_at(event.where)}: {event.reason}"
    if isinstance(event, events.Flush):
        found = "hit" if event.hit else "miss"
        return "flush", f"{event.cause} {event.graph[:12]} {found}, {event.nodes} nodes{_at(event.where)}"
    if isinstance(event, events.OneThread):
        return "recompiles", f"kernels run on one thread: {event.reason}"
    return None


def fields_of(event: events.Event) -> dict[str, Any]:
    """What an event says, as JSON has it: a place is "file:line"."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    plain = {name: value for name, value in values.items() if not callable(value)}
    return {name: str(value) if name == "where" and value else value for name, value in plain.items()}


def _at(where: events.SourceLine | None) -> str:
    return f" at {where}" if where else ""


def _listen(event: events.Event) -> None:
    if not options.logs:
        return
    described = describe(event)
    if described and described[0] in split_list(options.logs):
        _write(*described, fields_of(event) if options.logs_format == "json" else None)


events.subscribe(_listen)
