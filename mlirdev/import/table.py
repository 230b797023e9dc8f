"""Every operator that can be lowered, with its route; and why the others can't.

    direct          torch-mlir lowers it; the group says how its operands are prepared
    decomposition   a rule in decompose/ replaces it by simpler nodes
    own             own/ emits it as linalg
    complex         a rule replaces it where complex numbers take part, whatever its route is otherwise

Adding an operator is one name here, or one function with a decorator in decompose/ or own/.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlirdev.errors import InternalError
from mlirdev.graph import Node, TensorSpec

from . import decompose
from .limits import limit
from .own import OWN
from .pairs import is_complex
from .prepare import PREPARATIONS
from .registry import COMPLEX, DECOMPOSITIONS, Rule, decomposition

if TYPE_CHECKING:
    from .rewriter import Rewriter

# By preparation: see prepare.py.
DIRECT = {
    "as_result": """
        div.Tensor div.Scalar true_divide.Tensor
        exp.default exp2.default expm1.default log.default log2.default log10.default log1p.default
        sqrt.default rsqrt.default tanh.default erf.default
        sin.default cos.default tan.default asin.default acos.default atan.default sinh.default cosh.default
        asinh.default acosh.default atanh.default
    """,
    "selected": "where.self",
}

Rows = dict[str, Rule]


def _rows() -> Rows:
    rows: Rows = {}
    for preparation, names in DIRECT.items():
        rows.update({f"aten.{name}": PREPARATIONS[preparation] for name in names.split()})
    return rows


_ROWS = _rows()


def rewrite_of(rewriter: Rewriter, node: Node) -> Rule | None:
    """The rule that replaces or prepares this node; None keeps it."""
    if is_complex(node, rewriter.specs):
        if node.op not in COMPLEX:
            raise InternalError(f"{node.op} has no rule for complex numbers")
        return COMPLEX[node.op]
    rule = DECOMPOSITIONS.get(node.op)
    return rule if rule is not None else _ROWS.get(node.op)


def routes() -> dict[str, str]:
    """Every operator with its route, for people and tests."""
    named = [
        ("complex", list(COMPLEX)),
        ("direct", list(_ROWS)),
        ("own", list(OWN)),
        ("decomposition", list(DECOMPOSITIONS)),
    ]
    return dict(sorted((op, route) for route, ops in named for op in ops))


def unsupported(node: Node, specs: tuple[TensorSpec, ...]) -> str | None:
    """See mlirdev.importer.unsupported."""
    if is_complex(node, specs):
        return limit(node, specs) if node.op in COMPLEX else "no lowering for complex numbers"
    if node.op not in _ROWS and node.op not in OWN and node.op not in DECOMPOSITIONS:
        return "no lowering"
    return limit(node, specs)


def register_decomposition(op: str, fn: Callable[[Rewriter, Node], object]) -> None:
    """See mlirdev.importer.register_decomposition."""
    decomposition(op)(fn)  # type: ignore[arg-type]  # a user's function; its results are checked when it runs


__all__ = ["decompose", "register_decomposition", "rewrite_of", "routes", "unsupported"]
