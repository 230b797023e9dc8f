"""Attention that is written out by hand, found on the graph: it becomes the one operation that has a schedule.

    scores = q @ kᵀ   (also divided or multiplied by a number; with masks added, or filled in as -inf)
    out = softmax(scores) @ v

Only where nothing else reads what lies between, as when a model is evaluated: a derivative reads the weights.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef

from .dims import Shape
from .promotion import widened
from .tensor import Tensor, spec_of

if TYPE_CHECKING:
    from .rewriter import Rewriter

_SOFTMAX = {"aten._softmax.default": False, "aten._safe_softmax.default": True}
_SCALES = {f"aten.{name}.{kind}" for name in ("mul", "div") for kind in ("Scalar", "Tensor")}


@dataclass
class Attended:
    """`right` is kᵀ. Masks are (values, whether they are bools that hide). `scales` are nodes that scale the scores,
    innermost last. `zero_rows`: rows that see nothing give zeros, not NaN."""

    left: Ref
    right: Ref
    values: Ref
    zero_rows: bool
    scores: Shape = ()
    masks: list[tuple[Ref, bool]] = field(default_factory=list)
    scales: list[Node] = field(default_factory=list)

    def emit(self, rw: Rewriter, node: Node) -> Tensor:
        """What takes the place of the last product; what led there is read by nobody then."""
        batch = self.scores[:-2]
        q, right, v = (rw.tensor(rw.renumbered(a)) for a in (self.left, self.right, self.values))
        for scale in reversed(self.scales):
            (q,) = rw.emit(scale.op, [q.ref, *(rw.renumbered(a) for a in scale.args[1:])], [q.spec])
        q = q.view((*batch, *q.shape[1:]))
        k = right.view((*batch, *right.shape[1:])).transpose(-2, -1)
        v = v.view((*batch, *v.shape[1:]))
        (spec,) = node.results
        shape = (*q.shape[:-1], v.shape[-1])
        specs = [spec_of(shape, spec.dtype), spec_of(shape[:-1], widened(spec.dtype))]
        mask = self._mask(rw)
        args: list[Arg] = [q.ref, k.ref, v.ref, None if mask is None else mask.ref, False, 1.0, self.zero_rows]
        return rw.emit("own.attention", args, specs)[0].view(spec.shape)

    def _mask(self, rw: Rewriter) -> Tensor | None:
        total: Tensor | None = None
        for ref, hides in self.masks:
            mask = rw.tensor(rw.renumbered(ref))
            if hides:
                mask = rw.where(mask, -math.inf, rw.full((), 0.0, DType.f32))
            total = mask if total is None else total + mask.to(total.dtype)
        return total


def find_attended(graph: Graph) -> dict[int, Attended]:
    """By the position of the last product."""
    finder = _Finder(graph)
    found = ((position, finder.match(node)) for position, node in enumerate(graph.nodes))
    return {position: attended for position, attended in found if attended is not None}


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.specs = graph.specs
        self.made = {first: node for node, first in zip(graph.nodes, graph.first_result, strict=True)}
        self.uses = Counter(o for node in graph.nodes for o in node.operands())
        self.uses.update(graph.outputs)

    def match(self, node: Node) -> Attended | None:
        """The attention whose last product this node is."""
        if node.op != "aten.bmm.default" or not node.results[0].dtype.is_float:
            return None
        weights, values = node.args
        softmax = self._inner(self._unviewed(weights))
        if (
            softmax is None
            or softmax.op not in _SOFTMAX
            or softmax.args[1] not in (-1, len(softmax.results[0].shape) - 1)
        ):
            return None
        assert isinstance(values, Ref)
        found = Attended(Ref(-1), Ref(-1), values, _SOFTMAX[softmax.op], softmax.results[0].shape)
        is_whole = self._follow(softmax.args[0], found) and softmax.results[0].dtype is node.results[0].dtype
        return found if is_whole and len(found.scores) > 2 else None

    def _follow(self, value: Arg, found: Attended) -> bool:
        """From the softmax's operand to the first product; True if it is there."""
        while (node := self._inner(value)) is not None:
            scores, *others = node.args
            if node.results[0].shape != found.scores or node.results[0].dtype is not self._dtype(scores):
                break
            if node.op in _SCALES and _is_number(others):
                found.scales.append(node)
            elif found.scales or not self._masks(node, found):
                break
            value = scores
        product = self._inner(self._unviewed(value))
        if product is None or product.op != "aten.bmm.default":
            return False
        left, right = product.args
        assert isinstance(left, Ref)
        assert isinstance(right, Ref)
        found.left, found.right = left, right
        return True

    def _masks(self, node: Node, found: Attended) -> bool:
        """Whether a node masks the scores; if so, that is noted."""
        if node.op == "aten.add.Tensor" and isinstance(node.args[1], Ref) and node.args[2] == 1:
            hides = False
        elif node.op == "aten.masked_fill.Scalar" and node.args[2] == -math.inf:
            hides = True
        else:
            return False
        mask = node.args[1]
        assert isinstance(mask, Ref)
        found.masks.append((mask, hides))
        return self.specs[mask.value].dtype in ((DType.i1,) if hides else (node.results[0].dtype,))

    def _inner(self, value: Arg) -> Node | None:
        """The node that makes a value, if only one reads it."""
        return self.made.get(value.value) if isinstance(value, Ref) and self.uses[value.value] == 1 else None

    def _unviewed(self, value: Arg) -> Arg:
        """The value before reshapes of its batch dims that nothing else reads."""
        while (node := self._inner(value)) is not None and node.op == "aten.view.default":
            (source, *_), (spec,) = node.args, node.results
            if not isinstance(source, Ref) or self.specs[source.value].shape[-2:] != spec.shape[-2:]:
                break
            value = source
        return value

    def _dtype(self, value: Arg) -> DType | None:
        return self.specs[value.value].dtype if isinstance(value, Ref) else None


def _is_number(others: list[Arg]) -> bool:
    return len(others) == 1 and isinstance(others[0], (int, float, ScalarRef)) and not isinstance(others[0], bool)
