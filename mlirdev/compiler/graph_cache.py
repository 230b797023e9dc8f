"""The graphs of this process that have an executable, found by what they are or by all but their sizes."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

from mlirdev.compiler.executable import Executable
from mlirdev.compiler.generalise import Known, match
from mlirdev.graph import Graph

_LATEST = 100
Found = tuple[Executable, tuple[int, ...]]


class GraphCache:
    """Keyed by skeleton; each skeleton has the graphs that were compiled for it, latest last."""

    def __init__(self) -> None:
        self._by_skeleton: defaultdict[tuple[object, ...], list[tuple[Known, Executable]]] = defaultdict(list)
        self._static: set[tuple[object, ...]] = set()

    def find(self, graph: Graph) -> Found | None:
        """The executable for a recorded graph and the values of its syms: the one made for its sizes, if there is."""
        same = self._by_skeleton.get(graph.skeleton, ())
        for known, executable in sorted(same, key=lambda item: item[0].graph.syms):
            syms = match(known.graph, graph)
            if syms is not None:
                return executable, syms
        return None

    def like(self, graph: Graph) -> tuple[Known, Executable] | None:
        """The latest graph that differs from this one in sizes alone, with its executable."""
        same = self._by_skeleton.get(graph.skeleton)
        return same[-1] if same else None

    def needs_fixed_sizes(self, graph: Graph) -> bool:
        """Whether sizes as inputs cost this skeleton a kernel, as was found out by `fix_sizes`."""
        return graph.skeleton in self._static

    def fix_sizes(self, graph: Graph) -> None:
        """Don't generalise graphs of this skeleton again."""
        self._static.add(graph.skeleton)

    def add(self, known: Known, executable: Executable) -> None:
        self._by_skeleton[known.graph.skeleton].append((known, executable))

    def latest(self) -> list[Graph]:
        """A graph of each of the skeletons met last, the latest last: a miss is explained by one of these."""
        skeletons = islice(reversed(self._by_skeleton.values()), _LATEST)
        return [same[-1][0].graph for same in skeletons][::-1]

    def clear(self) -> None:
        self._by_skeleton.clear()
        self._static.clear()
