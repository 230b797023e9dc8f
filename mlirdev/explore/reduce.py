"""A graph that fails, made small: delta debugging on its outputs, its nodes and its sizes.

    outputs   as few as still fail; what nothing needs any more goes with them
    nodes     runs of nodes, half of them, a quarter, … one: their results become inputs, with the values that PyTorch
              computes for them, so that a wrong result stays one
    sizes     each size that occurs, everywhere at once: halved, then 2

All three again until nothing changes. Each candidate is tried by whoever asks (`Fails`), in processes of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mlirdev.explore.subject import Subject, of_graph
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, walk_args
from mlirdev.lazy.reference import bytes_of
from mlirdev.sizes import Dim

# Whether a candidate still fails as the original does.
Fails = Callable[[Subject], bool]
Tell = Callable[[str], None]
# Sizes from here on are no sizes but "to the end".
_TO_THE_END = 1 << 62


def reduce(subject: Subject, fails: Fails, tell: Tell, budget_s: float) -> Subject:
    """The smallest subject found that still fails, within so many seconds."""
    reduction = _Reduction(subject, fails, tell, time.monotonic() + budget_s)
    reduction.run()
    return reduction.best


class _Reduction:
    """The smallest that is known to fail, and the tries to make it smaller."""

    def __init__(self, subject: Subject, fails: Fails, tell: Tell, until: float) -> None:
        self.best = subject
        self._fails = fails
        self._tell = tell
        self._until = until
        self._tried: set[Graph] = set()

    def run(self) -> None:
        before = None
        while before != self.best.graph and not self._late():
            before = self.best.graph
            self._fewer_outputs()
            self._fewer_nodes()
            self._smaller_sizes()

    def _late(self) -> bool:
        return time.monotonic() > self._until

    def _try(self, candidate: Subject | None) -> bool:
        """Take a candidate if it is new and still fails."""
        if candidate is None or candidate.graph in self._tried or self._late():
            return False
        self._tried.add(candidate.graph)
        if not self._fails(candidate):
            return False
        self.best = candidate
        self._tell(f"{len(candidate.graph.nodes)} nodes, {len(candidate.graph.outputs)} outputs still fail")
        return True

    def _fewer_outputs(self) -> None:
        outputs = self.best.graph.outputs
        if len(outputs) > 1 and any(self._try(with_outputs(self.best, (output,))) for output in outputs):
            return
        for output in outputs:
            left = tuple(o for o in self.best.graph.outputs if o != output)
            if left:
                self._try(with_outputs(self.best, left))

    def _fewer_nodes(self) -> None:
        size = len(self.best.graph.nodes) // 2
        while size >= 1:
            start = 0
            while start < len(self.best.graph.nodes):
                count = len(self.best.graph.nodes)
                dropped = range(start, min(start + size, count))
                if not (len(dropped) < count and self._try(without_nodes(self.best, dropped))):
                    start += size
            size //= 2

    def _smaller_sizes(self) -> None:
        sizes = {size for size in self.best.graph.ints if isinstance(size, int) and 2 < size < _TO_THE_END}
        for size in sorted(sizes, reverse=True):
            while size > 2 and any(self._try(with_size(self.best, size, smaller)) for smaller in _smaller(size)):
                size = min((s for s in _smaller(size) if s in self.best.graph.ints), default=2)


def _smaller(size: int) -> Iterator[int]:
    """What to try in a size's place, the smallest first."""
    return iter(dict.fromkeys((2, 3, size // 2, size - 1)))


def with_outputs(subject: Subject, outputs: tuple[int, ...]) -> Subject:
    """The subject with these outputs alone, and what they need."""
    return _kept(subject, outputs, frozenset())


def without_nodes(subject: Subject, dropped: Sequence[int]) -> Subject | None:
    """The subject with inputs in place of these nodes' results, as far as others read them; None if nothing is left."""
    graph = subject.graph
    gone = {graph.first_result[n] + i for n in dropped for i in range(len(graph.nodes[n].results))}
    read_on = {v for n, node in enumerate(graph.nodes) if n not in dropped for v in node.operands()}
    left = tuple(o for o in graph.outputs if o not in gone)
    # What dropped nodes alone needed is dropped with them: its last readers' results are wanted instead.
    outputs = left or _ends(graph, frozenset(dropped))
    return _kept(subject, outputs, frozenset(gone & read_on)) if outputs else None


def _ends(graph: Graph, dropped: frozenset[int]) -> tuple[int, ...]:
    """The results of the nodes that aren't dropped and that only dropped ones read."""
    read = {v for n, node in enumerate(graph.nodes) if n not in dropped for v in node.operands()}
    results = (
        graph.first_result[n] + i
        for n, node in enumerate(graph.nodes)
        if n not in dropped
        for i in range(len(node.results))
    )
    return tuple(v for v in results if v not in read)


def _kept(subject: Subject, outputs: tuple[int, ...], given: frozenset[int]) -> Subject:
    """The part of a graph that computes the outputs, where the values `given` are inputs."""
    graph = subject.graph
    nodes = _needed(graph, outputs, given)
    read = {v for n in nodes for v in graph.nodes[n].operands()} | set(outputs)
    inputs = sorted(v for v in read if v < len(graph.inputs) or v in given)
    scalars = sorted({a.index for n in nodes for a in walk_args(graph.nodes[n].args) if isinstance(a, ScalarRef)})
    numbers = {v: i for i, v in enumerate(inputs)}
    count = len(inputs)
    for n in nodes:
        first = graph.first_result[n]
        numbers.update((first + i, count + i) for i in range(len(graph.nodes[n].results)) if first + i not in given)
        count += len(graph.nodes[n].results)
    scalar_numbers = {s: i for i, s in enumerate(scalars)}
    smaller = Graph(
        inputs=tuple(graph.specs[v] for v in inputs),
        scalars=tuple(graph.scalars[s] for s in scalars),
        nodes=tuple(_renumbered(graph.nodes[n], numbers, scalar_numbers) for n in nodes),
        outputs=tuple(dict.fromkeys(numbers[o] for o in outputs)),
    )
    data = tuple(subject.inputs[v] if v < len(graph.inputs) else bytes_of(subject.value(v)) for v in inputs)
    lines = {i: subject.lines[n] for i, n in enumerate(nodes) if n in subject.lines}
    kept_scalars = tuple(subject.scalars[s] for s in scalars)
    return replace(subject, what=smaller, inputs=data, scalars=kept_scalars, lines=lines)


def _needed(graph: Graph, outputs: tuple[int, ...], given: frozenset[int]) -> list[int]:
    """The nodes that the outputs need, down to the inputs and what is given."""
    wanted = {o for o in outputs if o not in given}
    nodes: list[int] = []
    for n in reversed(range(len(graph.nodes))):
        first = graph.first_result[n]
        if wanted.isdisjoint(range(first, first + len(graph.nodes[n].results))):
            continue
        nodes.append(n)
        wanted.update(v for v in graph.nodes[n].operands() if v not in given)
    return nodes[::-1]


def _renumbered(node: Node, values: dict[int, int], scalars: dict[int, int]) -> Node:
    def arg(a: Arg) -> Arg:
        if isinstance(a, Ref):
            return Ref(values[a.value])
        if isinstance(a, ScalarRef):
            return ScalarRef(scalars[a.index])
        return tuple(map(arg, a)) if isinstance(a, tuple) else a

    return Node(node.op, tuple(map(arg, node.args)), node.results)


def with_size(subject: Subject, size: int, smaller: int) -> Subject | None:
    """The subject with another size wherever this one is; None where that is no graph any more. Its inputs are new."""

    def changed(dim: Dim) -> Dim:
        return smaller if dim == size else dim

    made = of_graph(subject.graph.map_sizes(changed), subject.target, subject.name, subject.lines)
    made = replace(made, scalars=subject.scalars)
    try:
        for output in made.graph.outputs:
            made.value(output)
    except Exception:  # PyTorch's, of whatever type: these sizes don't go together
        return None
    return made
