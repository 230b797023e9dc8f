"""Nodes that were found not to lower, remembered on disk: the next program doesn't try them again.

A verdict holds for a node with these operand specs and structural arguments, and for this compiler's
code: an edited pass starts afresh.
"""

from __future__ import annotations

from mlirdev.compiler import cache
from mlirdev.compiler.fingerprint import code_fingerprint
from mlirdev.compiler.partition import single_node
from mlirdev.graph import Graph
from mlirdev.target import Target

_known: dict[str, dict[str, dict[str, str]]] = {}


def known_unlowerable(graph: Graph, target: Target) -> dict[int, str]:
    """The positions of a graph's nodes that have a verdict, with the reason."""
    verdicts = _load(target)
    if not verdicts:
        return {}
    found: dict[int, str] = {}
    for position, node in enumerate(graph.nodes):
        reason = verdicts[node.op].get(str(single_node(graph, position))) if node.op in verdicts else None
        if reason is not None:
            found[position] = reason
    return found


def remember(single: Graph, target: Target, reason: str) -> None:
    """A single-node graph failed by itself."""
    verdicts = _load(target)
    verdicts.setdefault(single.nodes[0].op, {})[str(single)] = reason
    cache.store_verdicts(_key(target), verdicts)


def _load(target: Target) -> dict[str, dict[str, str]]:
    key = _key(target)
    if key not in _known:
        _known[key] = cache.load_verdicts(key)
    return _known[key]


def _key(target: Target) -> str:
    return f"{target.fingerprint}-{code_fingerprint()}"


def clear() -> None:
    """Read the verdicts again when they are next needed."""
    _known.clear()
