"""Log lines on stderr: one line an event, of the kinds that the option `logs` (MLIRDEV_LOGS) names.

MLIRDEV_LOGS=recompiles,sync,fallback,flush,passes
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from mlirdev import events
from mlirdev.options import options, split_list


def log(kind: str, line: str) -> None:
    """Write one line, if `kind` is wanted."""
    if kind in split_list(options.logs):
        print(f"mlirdev {kind}: {line}", file=sys.stderr, flush=True)


def pass_log(graph: str) -> events.Observer:
    """An Observer that logs each pass of the compilation of `graph` with its time."""

    def observe(stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        log("passes", f"{graph} {stage}/{pass_name} {seconds * 1e3:.2f} ms")

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
    return None


def _at(where: events.SourceLine | None) -> str:
    return f" at {where}" if where else ""


def _listen(event: events.Event) -> None:
    if not options.logs:
        return
    described = describe(event)
    if described:
        log(*described)


events.subscribe(_listen)
