"""The `_copy` forms of views (functionalisation makes them): the view's shape, contiguous."""

from __future__ import annotations

from typing import Any

from mlirdev.lazy.specs.checks import require, shown, wrap_dim, wrap_dims
from mlirdev.lazy.specs.layout import like_strides, numel
from mlirdev.lazy.specs.shaping import infer_size
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows


def same_copy(self: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def permute_copy(self: Meta, dims: tuple[int, ...]) -> OutSpec:
    rank = len(self.shape)
    require(
        len(dims) == rank,
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        f"ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}",
    )
    return OutSpec(tuple(self.shape[d] for d in wrap_dims(dims, rank)), self.dtype)


def transpose_copy(self: Meta, dim0: int, dim1: int) -> OutSpec:
    order = list(range(len(self.shape)))
    a, b = wrap_dim(dim0, len(order)), wrap_dim(dim1, len(order))
    if order:
        order[a], order[b] = order[b], order[a]
    return OutSpec(tuple(self.shape[i] for i in order), self.dtype)


def t_copy(self: Meta) -> OutSpec:
    require(len(self.shape) <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {len(self.shape)}D")
    return OutSpec(self.shape[::-1], self.dtype)


def view_copy(self: Meta, size: Shape) -> OutSpec:
    return OutSpec(infer_size(size, numel(self.shape)), self.dtype)


def expand_copy(self: Meta, size: Shape, implicit: bool = False) -> OutSpec:
    lead = len(size) - len(self.shape)
    shape = (*size[:lead], *(have if want == -1 else want for have, want in zip(self.shape, size[lead:], strict=True)))
    return OutSpec(shape, self.dtype)


def as_strided_copy(self: Meta, size: Shape, *_: Any) -> OutSpec:
    return OutSpec(size, self.dtype)


def squeeze_copy(self: Meta, dim: Any = None) -> OutSpec:
    if dim is None:
        return OutSpec(tuple(s for s in self.shape if s != 1), self.dtype)
    gone = wrap_dims((dim,) if isinstance(dim, int) else dim, len(self.shape))
    return OutSpec(tuple(s for i, s in enumerate(self.shape) if s != 1 or i not in gone), self.dtype)


def unsqueeze_copy(self: Meta, dim: int) -> OutSpec:
    dim = wrap_dim(dim, len(self.shape) + 1)
    return OutSpec((*self.shape[:dim], 1, *self.shape[dim:]), self.dtype)


def slice_copy(self: Meta, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> OutSpec:
    require(step > 0, "slice step must be positive")
    dim = wrap_dim(dim, len(self.shape))
    length = len(range(*slice(start, end, step).indices(self.shape[dim])))
    return OutSpec((*self.shape[:dim], length, *self.shape[dim + 1 :]), self.dtype)


def select_copy(self: Meta, dim: int, index: int) -> OutSpec:
    if not self.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {shown(self.shape)} at dimension {dim}"
        )
    return OutSpec((*self.shape[:dim], *self.shape[dim + 1 :]), self.dtype)


def narrow_copy(self: Meta, dim: int, start: int, length: int) -> OutSpec:
    require(bool(self.shape), "narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    require(
        length >= 0 and start <= size - length, f"start ({start}) + length ({length}) exceeds dimension size ({size})."
    )
    return OutSpec((*self.shape[:dim], length, *self.shape[dim + 1 :]), self.dtype)


def diagonal_copy(self: Meta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> OutSpec:
    a, b = wrap_dim(dim1, len(self.shape)), wrap_dim(dim2, len(self.shape))
    require(a != b, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows_, columns = self.shape[a], self.shape[b]
    length = max(0, min(rows_, columns - offset) if offset >= 0 else min(rows_ + offset, columns))
    rest = tuple(s for i, s in enumerate(self.shape) if i not in (a, b))
    return OutSpec((*rest, length), self.dtype)


def unfold_copy(self: Meta, dimension: int, size: int, step: int) -> OutSpec:
    dim = wrap_dim(dimension, len(self.shape))
    if not self.shape:
        return OutSpec((size,), self.dtype)
    count = (self.shape[dim] - size) // step + 1
    return OutSpec((*self.shape[:dim], count, *self.shape[dim + 1 :], size), self.dtype)


def split_copy(self: Meta, split_sizes: tuple[int, ...], dim: int = 0) -> tuple[OutSpec, ...]:
    dim = wrap_dim(dim, len(self.shape))
    return tuple(OutSpec((*self.shape[:dim], s, *self.shape[dim + 1 :]), self.dtype) for s in split_sizes)


def unbind_copy(self: Meta, dim: int = 0) -> tuple[OutSpec, ...]:
    if not self.shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(self.shape))
    return (OutSpec((*self.shape[:dim], *self.shape[dim + 1 :]), self.dtype),) * self.shape[dim]


TABLE: Table = {
    **rows(same_copy, "alias_copy detach_copy"),
    **rows(permute_copy, "permute_copy"),
    **rows(transpose_copy, "transpose_copy.int"),
    **rows(t_copy, "t_copy"),
    **rows(view_copy, "view_copy _reshape_copy"),
    **rows(expand_copy, "expand_copy"),
    **rows(as_strided_copy, "as_strided_copy"),
    **rows(squeeze_copy, "squeeze_copy squeeze_copy.dim squeeze_copy.dims"),
    **rows(unsqueeze_copy, "unsqueeze_copy"),
    **rows(narrow_copy, "narrow_copy"),
    **rows(slice_copy, "slice_copy.Tensor"),
    **rows(select_copy, "select_copy.int"),
    **rows(diagonal_copy, "diagonal_copy"),
    **rows(unfold_copy, "unfold_copy"),
    **rows(split_copy, "split_with_sizes_copy"),
    **rows(unbind_copy, "unbind_copy.int"),
}
