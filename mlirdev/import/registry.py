"""Where rules on graph nodes register themselves; `table.py` reads it.

DECOMPOSITIONS   nodes of real numbers
COMPLEX          nodes with a complex operand or result (pairs.py says what becomes of those)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Union

from mlirdev.graph import Node

if TYPE_CHECKING:
    from .rewriter import Rewriter
    from .tensor import Tensor

# What replaces the node: the value of each of its results.
Rule = Callable[["Rewriter", Node], Union["Tensor", Sequence["Tensor"]]]
DECOMPOSITIONS: dict[str, Rule] = {}


def decomposition(*ops: str) -> Callable[[Rule], Rule]:
    """Register a rule for these overloads ("aten._softmax.default")."""

    def register(rule: Rule) -> Rule:
        DECOMPOSITIONS.update(dict.fromkeys(ops, rule))
        return rule

    return register


COMPLEX: dict[str, Rule] = {}


def complex_rule(*ops: str) -> Callable[[Rule], Rule]:
    """Register a rule for these overloads where complex numbers take part."""

    def register(rule: Rule) -> Rule:
        COMPLEX.update(dict.fromkeys(ops, rule))
        return rule

    return register
