"""Diagonals, quarter turns and blocks: which elements go where is a formula of their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node, Ref

from .. import dims
from ..dims import int_of, ints_of, wrap
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten.diag_embed.default", "aten.diag_embed_copy.default")
def diag_embed(rw: Rewriter, node: Node) -> Tensor:
    """The last dim as a diagonal of two new ones, `offset` above the main one."""
    x, offset, rank = rw.tensor(node.args[0]), int_of(node.args[1]), len(node.results[0].shape)
    a, b = wrap(int_of(node.args[2]), rank), wrap(int_of(node.args[3]), rank)
    size = dims.add(x.shape[-1], abs(offset))
    rows, columns = rw.arange(size).unsqueeze(1), rw.arange(size).unsqueeze(0)
    spread = x.pad([max(offset, 0), max(-offset, 0)], 0.0 if x.dtype.is_float else 0).unsqueeze(-2)
    square = rw.where((rows + offset).compare("eq", columns), spread, rw.zeros((), x.dtype))
    order = list(range(rank - 2))
    for dim, source in sorted(((a, rank - 2), (b, rank - 1))):
        order.insert(dim, source)
    return square.permute(order)


@decomposition("aten.trace.default")
def trace(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], computing(node))
    rows, columns = rw.arange(x.shape[0]).unsqueeze(1), rw.arange(x.shape[1]).unsqueeze(0)
    return rw.where(rows.compare("eq", columns), x, rw.zeros((), x.dtype)).sum([0, 1])


@decomposition("aten.rot90.default")
def rot90(rw: Rewriter, node: Node) -> Tensor:
    """k quarter turns from the first dim towards the second."""
    x, turns = rw.tensor(node.args[0]), int_of(node.args[1]) % 4
    a, b = (wrap(d, x.rank) for d in ints_of(node.args[2]))
    if turns == 2:
        return x.flip([a, b])
    return (x.flip([b]) if turns == 1 else x.flip([a])).transpose(a, b) if turns else x


@decomposition("aten.block_diag.default")
def block_diag(rw: Rewriter, node: Node) -> Tensor:
    """Matrices along the diagonal; a vector is a row."""
    refs, spec = node.args[0], node.results[0]
    assert isinstance(refs, tuple)
    blocks = [rw.tensor(r, spec.dtype) for r in refs]
    blocks = [b.view((1,) * (2 - b.rank) + b.shape) for b in blocks]
    width, before, rows = dims.static(spec.shape[1]), 0, []
    for block in blocks:
        own = dims.static(block.shape[1])
        rows.append(block.pad([before, width - before - own], 0.0 if spec.dtype.is_float else 0))
        before += own
    rows = [r for r in rows if r.shape[0] != 0]
    if not rows:
        return rw.zeros(spec.shape, spec.dtype)
    return rows[0] if len(rows) == 1 else rw.joined(rows, 0)


@decomposition("aten.linalg_cross.default")
def cross(rw: Rewriter, node: Node) -> Tensor:
    """a₁b₂ − a₂b₁ and so on, along a dim of three."""
    assert isinstance(node.args[0], Ref)
    shape = node.results[0].shape
    a, b = (rw.tensor(v, computing(node)).expand(shape) for v in node.args[:2])
    dim = wrap(int_of(node.args[2]), a.rank)

    def turned(x: Tensor, by: int) -> Tensor:
        return rw.joined([x.slice(dim, by, 3), x.slice(dim, 0, by)], dim)

    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


@decomposition("aten.tril_indices.default", "aten.triu_indices.default")
def triangle_indices(rw: Rewriter, node: Node) -> Tensor:
    """(2, count): the rows and the columns of the elements on the diagonal and to one side of it."""
    rows, columns, offset = (int_of(a) for a in node.args[:3])
    result = node.results[0]
    diagonal = rw.iota(offset, 1, rows, DType.i64).unsqueeze(1)
    mask = rw.arange(columns).unsqueeze(0).compare("le" if "tril" in node.op else "ge", diagonal)
    places = spec_of((result.shape[1], 2), DType.i64)
    return rw.emit("own.nonzero", [mask.ref, 0], [places])[0].transpose(0, 1).to(result.dtype)
