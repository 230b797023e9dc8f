"""Judges the values of a graph: what PyTorch's CPU ops compute from what is known, and whether a tensor is that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirdev.explore.compare import Array, Difference, difference, scale_of
from mlirdev.explore.plain_plan import Scalar
from mlirdev.graph import Graph
from mlirdev.lazy.reference import Reference, array_of


class Judge:
    """Of one run of a graph with fixed sizes; tensors are PyTorch's, on the CPU."""

    def __init__(self, graph: Graph, scalars: Sequence[Scalar]) -> None:
        self.graph = graph
        self._narrow = Reference(graph, scalars)
        self._wide = Reference(graph, scalars, wide=True)

    def know(self, value: int, tensor: Any) -> None:
        """Take this for a value from now on: what follows from it is judged on its own."""
        for reference in (self._narrow, self._wide):
            reference.give(value, tensor)
            reference.forget_computed()

    def value(self, number: int) -> Any:
        """A value, known or computed. Raises what PyTorch raises."""
        return self._narrow.value(number)

    def between(self, value: int) -> list[int]:
        """The nodes that compute a value from known ones, in order."""
        return self._narrow.between(value)

    def difference(self, value: int, actual: Any) -> Difference | None:
        """How a tensor differs from a value, beyond what rounding explains."""
        between, spec = self.between(value), self.graph.specs[value]
        wanted = array_of(self.value(value))
        reads = [self.graph.specs[v].dtype for n in between for v in self.graph.nodes[n].operands()]
        if not any(dtype.is_float or dtype.is_complex for dtype in reads):
            return difference(array_of(actual), wanted, spec.dtype, from_floats=False)
        scale = self._scale(between[-1], wanted.size)
        return difference(array_of(actual), wanted, spec.dtype, self._other(value), scale)

    def _other(self, value: int) -> Array | None:
        """The value in the other precision, where its ops have that."""
        try:
            result: Array = array_of(self._wide.value(value))
        except Exception:  # PyTorch's, of whatever type: then there is one reference
            self._wide.forget_computed()
            return None
        return result

    def _scale(self, node: int, size: int) -> float:
        """The `scale` of compare.py for a result of a node, of so many elements."""
        operands = [self.value(v) for v in self.graph.nodes[node].operands()]
        floats = [array_of(t) for t in operands if t.numel() and (t.is_floating_point() or t.is_complex())]
        largest = max((float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0)) for a in floats), default=0.0)
        return scale_of(largest, max((a.size for a in floats), default=1), size)
