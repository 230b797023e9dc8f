"""Graph → Graph."""
from __future__ import annotations
from dataclasses import dataclass
from mlirdev.graph import Graph, Node, ScalarRef, replace
@dataclass(frozen=True)
class Rewritten:
    graph: Graph
    origins: tuple[int, ...]

def rewrite(graph: Graph) -> Rewritten:
    nodes = tuple(
        Node("aten.add.Scalar", n.args, n.results)
        if n.op == "aten.add.Tensor" and isinstance(n.args[1], (ScalarRef, int, float)) else n for n in graph.nodes)
    return Rewritten(replace(graph, nodes=nodes), tuple(range(len(nodes))))
