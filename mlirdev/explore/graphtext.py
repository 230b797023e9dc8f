"""A recorded graph as text, a line a value: what two graphs are compared by."""

from __future__ import annotations

from mlirdev.schema import Graph


def graph_text(graph: Graph) -> str:
    """Inputs, run-time sizes, nodes, outputs."""
    lines = [f"%{i}: {spec} = input" for i, spec in enumerate(graph.inputs)]
    lines += [f"s{i} = size" for i in range(graph.syms)]
    lines += [node.text for node in graph.nodes]
    lines.append(f"return {', '.join(f'%{output}' for output in graph.outputs)}")
    return "\n".join(lines) + "\n"
