"""From a Python line to the instruction and back: the relation between all stages of a record.

    Python line ─ Lines ─ graph node ─ PlanLaunch.nodes ─ ordinal of a kernel ─ line_ordinals ─ line of a stage's text

It is many-to-many: a line records nodes of several graphs, a node is computed by several kernels, a kernel is launched
in many places. What is nowhere at the end is told by the pass after which it was gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from mlirdev import schema
from mlirdev.dump import bare_name
from mlirdev.explore.irtext import language_of
from mlirdev.explore.ordinals import Ordinals, line_ordinals
from mlirdev.explore.record import Record


@dataclass(frozen=True, slots=True)
class Use:
    """A place in which a kernel is used: number `index` of the launches of a graph's plan."""

    graph: str
    index: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a graph's node. `uses` are the launches that compute it. Where there are none, `host` says why it
    runs on the CPU, or `removed_by` is the pass after which nothing stood for it; `after` says the same in words."""

    uses: tuple[Use, ...] = ()
    host: str = ""
    removed_by: schema.Pass | None = None

    @property
    def after(self) -> str:
        if self.host:
            return f"runs on the CPU: {self.host}"
        if self.removed_by is not None:
            return f"folded away by {bare_name(self.removed_by.name)} ({self.removed_by.stage})"
        return "" if self.uses else "left without a kernel: nothing of it is computed"


@dataclass
class Links:
    """The relation of a record, read from its texts as far as it is asked for."""

    record: Record
    _lines: dict[tuple[str, str], list[Ordinals]] = field(default_factory=dict)
    _last: dict[str, dict[int, int]] = field(default_factory=dict)

    # --- texts ------------------------------------------------------------------------------------

    def lines(self, of: schema.Pass) -> list[Ordinals]:
        """What each line of a pass's text (`Record.text`) stands for: nodes in a graph's, ordinals in a kernel's."""
        key = (of.owner, of.file)
        if key not in self._lines:
            self._lines[key] = line_ordinals(self.record.text(of), language_of(of.file))
        return self._lines[key]

    def stages(self, owner: str) -> list[schema.Pass]:
        """The passes of a graph or kernel, without a graph's plan, which has launches in place of ops."""
        return [of for of in self.record.passes.get(owner, ()) if of.stage != "plan"]

    def last_seen(self, owner: str) -> dict[int, int]:
        """Of each ordinal of a graph or kernel: the position in `stages` of the last pass after which something
        stands for it."""
        if owner not in self._last:
            last: dict[int, int] = {}
            present: frozenset[int] = frozenset()
            for position, of in enumerate(self.stages(owner)):
                if of.changed or not position:
                    present = frozenset(n for found in self.lines(of) for n in found or ())
                last.update(dict.fromkeys(present, position))
            self._last[owner] = last
        return self._last[owner]

    def removed_by(self, owner: str, ordinals: Iterable[int]) -> schema.Pass | None:
        """The first pass after which none of these is left; None while one is, or where there never was one."""
        last = self.last_seen(owner)
        seen = [last[n] for n in ordinals if n in last]
        passes = self.stages(owner)
        return passes[max(seen) + 1] if seen and max(seen) + 1 < len(passes) else None

    # --- graphs and kernels -----------------------------------------------------------------------

    @cached_property
    def uses(self) -> dict[str, list[Use]]:
        """Where each kernel is used, over all graphs."""
        found: dict[str, list[Use]] = defaultdict(list)
        for graph in self.record.graphs.values():
            for index, launch in enumerate(graph.launches):
                found[launch.kernel].append(Use(graph.name, index))
        return dict(found)

    def planned(self, use: Use) -> schema.PlanLaunch:
        """The plan's entry for a use."""
        return self.record.graphs[use.graph].launches[use.index]

    def ordinals(self, use: Use, nodes: Iterable[int]) -> tuple[int, ...]:
        """The ordinals that stand for these nodes in the kernel of a use."""
        wanted = set(nodes)
        return tuple(k for k, node in enumerate(self.planned(use).nodes) if node in wanted)

    def fate(self, graph: str, node: int) -> Fate:
        """What became of a node of a graph."""
        planned = self.record.graphs[graph]
        uses = tuple(
            Use(graph, index) for index, launch in enumerate(planned.launches) if launch.kernel and node in launch.nodes
        )
        if uses or planned.nodes[node].host:
            return Fate(uses, planned.nodes[node].host)
        return Fate(removed_by=self.removed_by(f"graphs/{graph}", [node]))

    # --- the user's program -----------------------------------------------------------------------

    @cached_property
    def nodes_of_place(self) -> dict[schema.Place, dict[str, tuple[int, ...]]]:
        """Of each Python line: the nodes that it recorded, by graph."""
        found: dict[schema.Place, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for lines in self.record.lines.values():
            for node, index in enumerate(lines.file_lines):
                found[lines.places[index]][lines.graph].add(node)
        return {
            place: {graph: tuple(sorted(nodes)) for graph, nodes in graphs.items()} for place, graphs in found.items()
        }

    def places_of_node(self, graph: str, node: int) -> tuple[schema.Place, ...]:
        """The Python lines that recorded a node: one for each way in which the program reached the graph."""
        ways = (lines for lines in self.record.lines.values() if lines.graph == graph)
        return tuple(dict.fromkeys(lines.places[lines.file_lines[node]] for lines in ways))

    def places_of_ordinals(self, kernel: str, ordinals: Iterable[int]) -> dict[Use, tuple[schema.Place, ...]]:
        """The Python lines behind a kernel's ordinals, in each of its uses."""
        wanted = tuple(ordinals)
        return {use: tuple(dict.fromkeys(self._places(use, wanted))) for use in self.uses.get(kernel, ())}

    def _places(self, use: Use, ordinals: tuple[int, ...]) -> Iterator[schema.Place]:
        nodes = self.planned(use).nodes
        for k in ordinals:
            if k < len(nodes):
                yield from self.places_of_node(use.graph, nodes[k])
