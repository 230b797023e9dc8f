"""What cost time without being asked for, with the user's line and the remedy: compiles, waits, ops on the CPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from mlirdev import schema
from mlirdev.compiler.difference import FIRST_GRAPH, SIZES
from mlirdev.explore.record import Record
from mlirdev.guards import EXPLICIT_SYNCS, FALLBACK_REMEDIES, SYNC_REMEDIES

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Compile:
    """A graph that wasn't known. `cause` is first (of the program), sizes, or program: other ops, or other uses of
    them. `seconds` were waited for, `stages` are seconds of work over all workers."""

    graph: str
    where: str
    nodes: int
    kernels: int
    seconds: float
    stages: dict[str, float]
    from_disk: bool
    generalised: bool
    cause: str
    reason: str
    nearest: str


@dataclass(frozen=True)
class Wait:
    """Waits for the device for one cause at one line; `explicit`: the program asked for them."""

    cause: str
    where: str
    times: int
    seconds: float
    explicit: bool
    remedy: str


@dataclass(frozen=True)
class OnCpu:
    """Runs of one op on the CPU at one line."""

    op: str
    where: str
    times: int
    cause: str
    reason: str
    remedy: str


def compiles(record: Record) -> list[Compile]:
    """Each graph that was compiled or found on disk, in order."""
    return [_compile(graph) for graph in record.graphs.values()]


def waits(record: Record) -> list[Wait]:
    """Waits by cause and line, the longest first."""
    groups = _grouped(record.syncs, lambda sync: (sync.cause, sync.where))
    found = [_wait(cause, where, syncs) for (cause, where), syncs in groups.items()]
    return sorted(found, key=lambda wait: (wait.explicit, -wait.seconds, -wait.times))


def on_cpu(record: Record) -> list[OnCpu]:
    """Ops that ran on the CPU by op, line and cause, the most frequent first."""
    groups = _grouped(record.fallbacks, lambda f: (f.op, f.where, f.cause, f.reason))
    found = [
        OnCpu(op, _said(where), len(group), cause, reason, FALLBACK_REMEDIES.get(cause, ""))
        for (op, where, cause, reason), group in groups.items()
    ]
    return sorted(found, key=lambda fallback: -fallback.times)


def _compile(graph: schema.Graph) -> Compile:
    return Compile(
        graph=graph.name,
        where=_said(graph.where),
        nodes=len(graph.nodes),
        kernels=len({launch.kernel for launch in graph.launches if launch.kernel}),
        seconds=graph.seconds,
        stages=graph.stages,
        from_disk=graph.from_disk,
        generalised=graph.generalised,
        cause=_cause(graph.reason),
        reason=graph.reason,
        nearest=graph.nearest,
    )


def _cause(reason: str) -> str:
    if not reason or reason.startswith(FIRST_GRAPH):
        return "first"
    return "sizes" if reason.startswith(SIZES) else "program"


def _wait(cause: str, where: schema.Place | None, syncs: list[schema.Sync]) -> Wait:
    explicit = cause in EXPLICIT_SYNCS or all(sync.explicit for sync in syncs)
    remedy = "" if explicit else SYNC_REMEDIES.get(cause, "move it out of the loop")
    return Wait(cause, _said(where), len(syncs), sum(sync.seconds for sync in syncs), explicit, remedy)


def _said(where: schema.Place | None) -> str:
    return str(where) if where else ""


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)
