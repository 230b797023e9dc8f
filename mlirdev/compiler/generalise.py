"""Sizes become inputs: two recordings that differ in sizes alone share one graph.

    recordings ─► which dims vary ─► varying.py: every size as arithmetic on them ─► one graph for both

Which dims vary is known in three ways, the surest first: another recording of the same skeleton had other sizes; the
program said so (`mark_dynamic`, or the memory comes from a graph whose sizes were inputs); or a graph that differs in
little else was run on inputs of which a dim was 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mlirdev.compiler.difference import nearest
from mlirdev.compiler.varying import Place, with_varying
from mlirdev.graph import Dim, Graph, Sym
from mlirdev.sizes import evaluate

# Operators that a size of 1 adds or takes away: recording leaves out what changes nothing.
_VIEWS = frozenset(
    f"aten.{name}" for name in ("view.default", "permute.default", "expand.default", "slice.Tensor", "select.int")
)


@dataclass(frozen=True)
class Known:
    """A graph that was compiled: the values of its syms then, and whether it was made of one recording alone."""

    graph: Graph
    syms: tuple[int, ...] = ()
    guessed: bool = False

    def recording(self, apart: int) -> Graph:
        """A recording that it covers: the one that it was made of, or one in which whatever varies has a size of its
        own, `apart` and more away from those seen."""
        return self.graph.at(self.syms if self.guessed else tuple(n + apart * (i + 1) for i, n in enumerate(self.syms)))


def match(known: Graph, graph: Graph) -> tuple[int, ...] | None:
    """The values of `known`'s syms under which it equals `graph`, or None. Their skeletons must be equal."""
    values: dict[Dim, Dim] = {}
    for ours, theirs in zip(known.ints, graph.ints, strict=True):
        if isinstance(ours, int):
            if ours != theirs:
                return None
        elif values.setdefault(ours, theirs) != theirs:
            return None
    syms = tuple(values.get(Sym(i)) for i in range(known.syms))
    if not all(isinstance(n, int) for n in syms):
        return None
    found: tuple[int, ...] = syms  # type: ignore[assignment]  # as just looked at
    return found if all(evaluate(dim, found) == n for dim, n in values.items()) else None


@dataclass(frozen=True)
class Wide:
    """The graph to compile for a recording, and the values of its syms; `beside` is the known graph it was compared
    with, `grew` whether that has inputs with dims of 1 that are longer now. `guessed`: it is made of one recording."""

    graph: Graph
    syms: tuple[int, ...] = ()
    beside: Graph | None = None
    grew: bool = False
    guessed: bool = False


def widened(graph: Graph, like: Known | None, latest: list[Graph], marked: Iterable[Place]) -> Wide:
    """What to compile for a recording that missed the cache: `like` has its skeleton, `latest` are the graphs known."""
    if like is not None:
        return Wide(*generalise(like, graph, marked), like.graph)
    beside, grew = _grown(graph, latest) or (nearest(graph, latest), [])
    varying = [place for place in (*marked, *grew) if _is_free(graph, place)]
    if not varying:
        return Wide(graph, (), beside)
    return Wide(*with_varying((graph,), varying), beside, bool(grew), guessed=True)


def generalise(known: Known, graph: Graph, marked: Iterable[Place] = ()) -> tuple[Graph, tuple[int, ...]]:
    """The graph that covers both, and the values of its syms for `graph`. Their skeletons must be equal."""
    varying = {*marked, *_run_time_dims(known.graph)}
    largest = max((n for n in graph.ints if isinstance(n, int) and n < 1 << 32), default=1)
    return with_varying((known.recording(largest), graph), [p for p in varying if _is_free(graph, p)])


def _grown(graph: Graph, latest: list[Graph]) -> tuple[Graph, list[Place]] | None:
    """The latest graph that differs in little but inputs' dims of 1 that are longer now; and the dims that differ."""
    for other in reversed(latest):
        places = _grown_dims(graph, other)
        if places and _computing(graph) == _computing(other):
            return other, places
    return None


def _grown_dims(graph: Graph, other: Graph) -> list[Place]:
    """The input dims that differ, if one of them was 1 and nothing else of the inputs differs."""
    if [(len(s.shape), s.dtype) for s in graph.inputs] != [(len(s.shape), s.dtype) for s in other.inputs]:
        return []
    pairs = [
        ((i, d), now, before)
        for i, (ours, theirs) in enumerate(zip(graph.inputs, other.inputs, strict=True))
        for d, (now, before) in enumerate(zip(ours.shape, theirs.shape, strict=True))
        if now != before
    ]
    grew = any(before == 1 for _, _, before in pairs)
    return [place for place, _, _ in pairs] if grew and not any(now in (0, 1) for _, now, _ in pairs) else []


def _computing(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in graph.nodes if node.op not in _VIEWS)


def _run_time_dims(graph: Graph) -> list[Place]:
    return [(i, d) for i, spec in enumerate(graph.inputs) for d, dim in enumerate(spec.shape) if isinstance(dim, Sym)]


def _is_free(graph: Graph, place: Place) -> bool:
    size = graph.specs[place[0]].shape[place[1]]
    return not isinstance(size, int) or size > 1
