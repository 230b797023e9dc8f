"""Reading and writing by index: embedding, gather and scatter, advanced indexing, masks.

Index values are checked where the kernel runs; here only shapes and dtypes are.
"""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import (
    broadcast_all,
    c_name,
    check_expandable,
    fail,
    not_implemented,
    overflow,
    require,
    shown,
    title,
    wrap_dim,
)
from mlirdev.lazy.specs.layout import elementwise_strides, like_strides, numel, strides_of, viewed_strides
from mlirdev.lazy.specs.types import DataDependentError, Meta, OutSpec, Shape, Table, rows

INDEX_DTYPES = (torch.int64, torch.int32)
MASK_DTYPES = (torch.bool, torch.uint8)


def embedding(weight: Meta, indices: Meta, *_: Any) -> OutSpec:
    require(len(weight.shape) == 2, "'weight' must be 2-D")
    _require_index(indices, "indices", "embedding")
    return OutSpec((*indices.shape, weight.shape[1]), weight.dtype)


def _require_index(index: Meta, name: str, kernel: str) -> None:
    if index.dtype not in INDEX_DTYPES:
        fail(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
            f"torch.{title(index)}Tensor instead (while checking arguments for {kernel})"
        )


def embedding_dense_backward(grad_output: Meta, indices: Meta, num_weights: int, *_: Any) -> OutSpec:
    return OutSpec((num_weights, grad_output.shape[-1]), grad_output.dtype)


def gather(self: Meta, dim: int, index: Meta, sparse_grad: bool = False) -> OutSpec:
    dim = wrap_dim(dim, len(self.shape))
    if 0 in index.shape:
        return OutSpec(index.shape, self.dtype)
    require(index.dtype in INDEX_DTYPES, "gather(): Expected dtype int32/int64 for index")
    require(
        len(self.shape or (1,)) == len(index.shape or (1,)),
        "Index tensor must have the same number of dimensions as input tensor",
    )
    for i, (have, want) in enumerate(zip(self.shape, index.shape, strict=False)):
        require(
            i == dim or want <= have,
            f"Size does not match at dimension {i} expected index {shown(index.shape)} to be no larger than self "
            f"{shown(self.shape)} apart from dimension {dim}",
        )
    return OutSpec(index.shape, self.dtype)


def scatter(self: Meta, dim: int, index: Meta, src: Any = None, *_: Any) -> OutSpec:
    """scatter, scatter_add and scatter_reduce with a tensor or a number."""
    if self.dtype is torch.bool and "mean" in _:
        not_implemented("scatter_gather_tensor_cpu_reduce_mean", self.dtype)
    dim = wrap_dim(dim, len(self.shape))
    if 0 not in index.shape:
        require(index.dtype in INDEX_DTYPES, "scatter(): Expected dtype int64 or int32 for index")
    if type(src) is Meta:
        require(self.dtype is src.dtype, "scatter(): Expected self.dtype to be equal to src.dtype")
    if 0 not in index.shape:
        _check_scatter(self, dim, index, src if type(src) is Meta else None)
    return OutSpec(self.shape, self.dtype)


def _check_scatter(self: Meta, dim: int, index: Meta, src: Meta | None) -> None:
    rank = len(self.shape or (1,))
    require(len(index.shape or (1,)) == rank, "Index tensor must have the same number of dimensions as self tensor")
    wide = any(want > have for i, (have, want) in enumerate(zip(self.shape, index.shape, strict=False)) if i != dim)
    if src is not None:
        require(len(src.shape or (1,)) == rank, "Index tensor must have the same number of dimensions as src tensor")
        wide |= any(want > have for have, want in zip(src.shape, index.shape, strict=False))
    require(
        not wide,
        f"Expected index {shown(index.shape)} to be no larger than self {shown(self.shape)} apart from dimension {dim}"
        + (f" and to be no larger size than src {shown(src.shape)}" if src else ""),
    )


def index_select(self: Meta, dim: int, index: Meta) -> OutSpec:
    dim = wrap_dim(dim, len(self.shape))
    if len(index.shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    require(index.dtype in INDEX_DTYPES, "index_select(): Expected dtype int32 or int64 for index")
    if not self.shape:
        return OutSpec((), self.dtype)
    count = index.shape[0] if index.shape else 1
    return OutSpec((*self.shape[:dim], count, *self.shape[dim + 1 :]), self.dtype)


def index_add(self: Meta, dim: int, index: Meta, source: Meta, *_: Any) -> OutSpec:
    wrap_dim(dim, len(self.shape))
    if len(index.shape) > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    _check_source(self, dim, source)
    require(
        self.dtype is source.dtype,
        "index_add_(): self and source expected to have the same dtype",
    )
    return OutSpec(self.shape, self.dtype)


def _check_source(self: Meta, dim: int, source: Meta) -> None:
    if not self.shape or not source.shape:
        return
    dim = wrap_dim(dim, len(self.shape))
    rest, given = (tuple(s for i, s in enumerate(m.shape) if i != dim) for m in (self, source))
    require(
        rest == given,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
        f"{shown(self.shape)} source.shape = {shown(source.shape)}",
    )


def _require_long(index: Meta, name: str) -> None:
    require(index.dtype is torch.int64, f"{name}: Expected a long tensor for index, but got {title(index)}")


def index_copy(self: Meta, dim: int, index: Meta, source: Meta, *_: Any) -> OutSpec:
    _require_long(index, "index_copy_()")
    return index_add(self, dim, index, source)


def index_reduce(self: Meta, dim: int, index: Meta, source: Meta, reduce: str, include_self: bool = True) -> OutSpec:
    require(
        reduce in ("prod", "mean", "amax", "amin"),
        f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
    )
    if self.dtype is torch.bool and not include_self:
        not_implemented("index_reduce_func_exclude_input_init", self.dtype)
    if self.dtype is torch.bool and reduce == "mean":
        not_implemented("div_floor_cpu", self.dtype)
    return index_add(self, dim, index, source)


def index_fill(self: Meta, dim: int, index: Meta, value: Any) -> OutSpec:
    wrap_dim(dim, len(self.shape))
    if index.dtype is not torch.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index.shape) > 1:
        raise IndexError("Index has to be a vector/scalar")
    return OutSpec(self.shape, self.dtype, like_strides(self))


def take(self: Meta, index: Meta) -> OutSpec:
    require(index.dtype is torch.int64, f"take(): Expected a long tensor for index, but got {index.dtype}")
    if 0 in self.shape and 0 not in index.shape:
        raise IndexError("take(): tried to take from an empty tensor")
    return OutSpec(index.shape, self.dtype)


def put(self: Meta, index: Meta, source: Meta, accumulate: bool = False) -> OutSpec:
    _require_long(index, "put_()")
    require(
        numel(index.shape) == numel(source.shape),
        f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
        f"{numel(source.shape)}, index.numel() = {numel(index.shape)}",
    )
    return OutSpec(self.shape, self.dtype, like_strides(self))


def index(self: Meta, indices: tuple[Meta | None, ...]) -> OutSpec:
    """`self[indices]`: TensorIterator over the source, restrided, and the index tensors."""
    positions, tensors = _tensor_indices(self, indices)
    block = _broadcast_indices(tensors)
    before, after = _around(self, positions)
    lead, tail = tuple(self.shape[i] for i in before), tuple(self.shape[i] for i in after)
    _check_not_empty(self, positions, block)
    shape = (*lead, *block, *tail)
    usual = self.stride is None and len(tensors) == 1 and not before and tensors[0].stride is None
    if usual and 0 not in shape:
        return OutSpec(shape, self.dtype)
    own = strides_of(self)
    strides = (*(own[i] for i in before), *(0 for _ in block), *(own[i] for i in after))
    source = Meta(shape, self.dtype, strides)
    spread = [_spread_index(t, block, len(before), len(after)) for t in tensors]
    return OutSpec(shape, self.dtype, elementwise_strides(shape, [source, *spread]))


def _around(self: Meta, positions: list[int]) -> tuple[Shape, Shape]:
    """The dims that aren't indexed: those before and behind the block of the indices, as numpy has it."""
    rest = tuple(i for i in range(len(self.shape)) if i not in positions)
    first, last = positions[0], positions[-1]
    before = rest[:first] if last - first + 1 == len(positions) else ()
    return before, rest[len(before) :]


def _tensor_indices(self: Meta, indices: tuple[Meta | None, ...]) -> tuple[list[int], list[Meta]]:
    positions = [i for i, meta in enumerate(indices) if meta is not None]
    tensors = [meta for meta in indices if meta is not None]
    if _check_masks(self, indices):
        raise DataDependentError("a mask as an index selects as many elements as it has true ones")
    for meta in tensors:
        if meta.dtype not in INDEX_DTYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if len(indices) > len(self.shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self.shape)} (got {len(indices)})")
    return positions, tensors


def _check_masks(self: Meta, indices: tuple[Meta | None, ...]) -> list[int]:
    """The dims of self at which masks stand, each of which must have the shape of the dims that it covers."""
    found, dim = [], 0
    for meta in indices:
        if meta is None or meta.dtype not in MASK_DTYPES:
            dim += 1
            continue
        found.append(dim)
        for i, size in enumerate(meta.shape):
            if dim + i >= len(self.shape):
                raise IndexError(f"too many indices for tensor of dimension {len(self.shape)}")
            if size != self.shape[dim + i]:
                raise IndexError(
                    f"The shape of the mask {shown(meta.shape)} at index {i} does not match the shape of the indexed "
                    f"tensor {shown(self.shape)} at index {dim + i}"
                )
        dim += len(meta.shape)
    return found


def _broadcast_indices(tensors: list[Meta]) -> Shape:
    try:
        return broadcast_all(tensors)
    except RuntimeError:
        shapes = ", ".join(shown(t.shape) for t in tensors)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def _check_not_empty(self: Meta, positions: list[int], block: Shape) -> None:
    if 0 not in block and any(self.shape[i] == 0 for i in positions):
        raise IndexError("index is out of bounds for dimension with size 0")


def _spread_index(meta: Meta, block: Shape, before: int, after: int) -> Meta:
    """An index tensor, expanded to the common block, with 1s for the dims that aren't indexed."""
    lead = len(block) - len(meta.shape)
    own = strides_of(meta)
    kept = (0 if have == 1 and want != 1 else s for have, want, s in zip(meta.shape, block[lead:], own, strict=True))
    shape = (*(1,) * before, *block, *(1,) * after)
    return Meta(shape, meta.dtype, viewed_strides(block, ((0,) * lead + tuple(kept)), shape))


def index_put(self: Meta, indices: tuple[Meta | None, ...], values: Meta, *_: Any) -> OutSpec:
    """The result has self's shape, whatever a mask selects: how many matters only if there are other indices."""
    masks = _check_masks(self, indices)
    if len(indices) > len(self.shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self.shape)} (got {len(indices)})")
    require(
        self.dtype is values.dtype,
        f"Index put requires the source and destination dtypes match, got {title(self)} for the destination and "
        f"{title(values)} for the source.",
    )
    given = [meta for meta in indices if meta is not None]
    if masks and len(given) > 1:
        raise DataDependentError("a mask among indices is broadcast by the number of its true elements")
    if masks:
        _check_masked_values(self, given[0], masks[0], values)
    elif given:
        positions, tensors = _tensor_indices(self, indices)
        before, after = _around(self, positions)
        lead, tail = (tuple(self.shape[i] for i in dims) for dims in (before, after))
        _check_values(values, (*lead, *_broadcast_indices(tensors), *tail))
    return OutSpec(self.shape, self.dtype, like_strides(self))


def _check_masked_values(self: Meta, mask: Meta, dim: int, values: Meta) -> None:
    """The values have to fit the selected slices; along the slices their number is compared when they are put. A single
    one is filled in, whatever its dims."""
    if numel(values.shape) == 1:
        return
    after = self.shape[dim + len(mask.shape) :]
    count = values.shape[-1 - len(after)] if len(values.shape) > len(after) else 1
    wanted = (*self.shape[:dim], count, *after)
    _check_values(values, wanted)


def _check_values(values: Meta, wanted: Shape) -> None:
    """What is put broadcasts to what is selected."""
    check_expandable(
        values.shape,
        wanted,
        f"shape mismatch: value tensor of shape {shown(values.shape)} cannot be broadcast to indexing result of shape "
        f"{shown(wanted)}",
    )


def masked_index(self: Meta, mask: Meta, indices: tuple[Meta | None, ...], fill: Any) -> OutSpec:
    spec = index(self, indices)
    return OutSpec(spec.shape, spec.dtype)


def masked_index_put(self: Meta, mask: Meta, indices: tuple[Meta | None, ...], values: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def masked_fill(self: Meta, mask: Meta, value: Any) -> OutSpec:
    require(
        mask.dtype is torch.bool, f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask)}"
    )
    if type(value) is Meta:
        _check_fits(self, value.dtype.is_complex)
        require(
            not value.shape,
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value.shape)} "
            "dimension(s).",
        )
    _check_fits(self, isinstance(value, complex))
    return OutSpec(broadcast_all([self, mask]), self.dtype)


def _check_fits(self: Meta, is_complex: bool) -> None:
    if is_complex and not self.dtype.is_complex:
        overflow(self.dtype)


def masked_scatter(self: Meta, mask: Meta, source: Meta) -> OutSpec:
    require(
        mask.dtype is torch.bool,
        f"masked_scatter_ only supports boolean masks, but got mask with dtype {title(mask)}",
    )
    require(
        self.dtype is source.dtype,
        f"masked_scatter: expected self and source to have same dtypes but got {title(self)} and {title(source)}",
    )
    return OutSpec(broadcast_all([self, mask]), self.dtype)


def masked_scatter_backward(grad_output: Meta, mask: Meta, sizes: Shape) -> OutSpec:
    return OutSpec(sizes, grad_output.dtype)


def nonzero_static(self: Meta, size: int, fill_value: int = -1) -> OutSpec:
    require(size >= 0, "nonzero_static: 'size' must be an non-negative integer")
    return OutSpec((size, len(self.shape)), torch.int64)


TABLE: Table = {
    **rows(embedding, "embedding"),
    **rows(embedding_dense_backward, "embedding_dense_backward"),
    **rows(gather, "gather"),
    **rows(scatter, "scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add scatter_reduce.two"),
    **rows(index_select, "index_select"),
    **rows(index_add, "index_add"),
    **rows(index_copy, "index_copy"),
    **rows(index_reduce, "index_reduce"),
    **rows(index_fill, "index_fill.int_Scalar index_fill.int_Tensor"),
    **rows(take, "take"),
    **rows(put, "put"),
    **rows(index, "index.Tensor _unsafe_index.Tensor"),
    **rows(index_put, "index_put _unsafe_index_put _index_put_impl"),
    **rows(masked_index, "_unsafe_masked_index"),
    **rows(masked_index_put, "_unsafe_masked_index_put_accumulate"),
    **rows(masked_fill, "masked_fill.Scalar masked_fill.Tensor"),
    **rows(masked_scatter, "masked_scatter"),
    **rows(masked_scatter_backward, "masked_scatter_backward"),
    **rows(nonzero_static, "nonzero_static"),
}
