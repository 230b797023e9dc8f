"""_chunk_cat: tensors cut into as many chunks each, laid side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Node

from .. import dims
from ..dims import int_of, wrap
from ..registry import decomposition
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..rewriter import Rewriter


@decomposition("aten._chunk_cat.default")
def chunk_cat(rw: Rewriter, node: Node) -> Tensor:
    """Each is padded with zeros to whole chunks, which then are flat."""
    refs, chunks, result = node.args[0], int_of(node.args[2]), node.results[0]
    assert isinstance(refs, tuple)
    parts = [rw.tensor(ref) for ref in refs]
    dim = wrap(int_of(node.args[1]), parts[0].rank)
    flat = [_chunked(rw, part, dim, chunks) for part in parts]
    return flat[0] if len(flat) == 1 else rw.joined(flat, len(result.shape) - 1)


def _chunked(rw: Rewriter, x: Tensor, dim: int, chunks: int) -> Tensor:
    size = dims.static(x.shape[dim])
    missing = -size % chunks
    if missing:
        shape = (*x.shape[:dim], size + missing, *x.shape[dim + 1 :])
        amounts = [0] * (2 * (x.rank - dim - 1)) + [0, missing]
        x = rw.padded(x, amounts, 0.0 if x.dtype.is_float else 0, shape)
    width = dims.product(x.shape[dim:])
    return x.view((*x.shape[:dim], chunks, dims.floordiv(width, chunks)))
