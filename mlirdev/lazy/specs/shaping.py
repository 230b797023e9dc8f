"""Moving elements without computing: cat, repeat, flip, pads, triangles, and the scatters into views."""

from __future__ import annotations

from typing import Any

from mlirdev.lazy.number_checks import check_numbers
from mlirdev.lazy.specs.checks import fail, require, shown, wrap_dim, wrap_dims
from mlirdev.lazy.specs.layout import (
    contiguous_strides,
    format_strides,
    like_strides,
    normal,
    numel,
    strides_of,
    suggested_format,
    suggested_strides,
    viewed_strides,
)
from mlirdev.lazy.specs.promotion import result_dtype
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Shape, Table, rows


def cat(tensors: tuple[Meta, ...], dim: int = 0) -> OutSpec:
    """Legacy: 1-D tensors of size 0 fit anything."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, meta in enumerate(tensors):
        require(bool(meta.shape), f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    real = [meta for meta in tensors if meta.shape != (0,)]
    dtype = result_dtype(tensors)
    if not real:
        return OutSpec((0,), dtype)
    first = real[0].shape
    dim = wrap_dim(dim, len(first))
    for position, meta in enumerate(tensors):
        if meta.shape != (0,):
            _check_beside(first, meta.shape, dim, position)
    total = sum(meta.shape[dim] for meta in real)
    shape = (*first[:dim], total, *first[dim + 1 :])
    formats = {suggested_format(meta) for meta in tensors}
    return OutSpec(shape, dtype, format_strides(shape, formats.pop()) if len(formats) == 1 else None)


def _check_beside(first: Shape, shape: Shape, dim: int, position: int) -> None:
    require(
        len(first) == len(shape),
        f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}",
    )
    for i, (a, b) in enumerate(zip(first, shape, strict=True)):
        require(
            i == dim or a == b,
            f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
            f"number {position} in the list.",
        )


def stack(tensors: tuple[Meta, ...], dim: int = 0) -> OutSpec:
    require(bool(tensors), "stack expects a non-empty TensorList")
    first = tensors[0].shape
    for position, meta in enumerate(tensors):
        require(
            meta.shape == first,
            f"stack expects each tensor to be equal size, but got {shown(first)} at entry 0 and {shown(meta.shape)} at "
            f"entry {position}",
        )
    dim = wrap_dim(dim, len(first) + 1)
    shape = (*first[:dim], len(tensors), *first[dim:])
    if all(meta.stride is None for meta in tensors):
        return OutSpec(shape, result_dtype(tensors))
    if dim == len(first):
        return cat(tuple(_unsqueezed(meta) for meta in tensors), dim)
    joined = cat(tensors, dim)  # of which eager returns a view
    strides = viewed_strides(joined.shape, joined.stride or contiguous_strides(joined.shape), shape)
    assert strides is not None  # one can always split a dim
    return OutSpec(shape, joined.dtype, normal(shape, strides))


def _unsqueezed(meta: Meta) -> Meta:
    """With a last dim of size 1."""
    return Meta((*meta.shape, 1), meta.dtype, (*strides_of(meta), 1))


def repeat(self: Meta, repeats: Shape) -> OutSpec:
    require(
        len(repeats) >= len(self.shape),
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
    )
    padded = (1,) * (len(repeats) - len(self.shape)) + self.shape
    for count in repeats:
        require(count >= 0, f"Trying to create tensor with negative dimension {count}: {shown(repeats)}")
    return OutSpec(tuple(n * r for n, r in zip(padded, repeats, strict=True)), self.dtype)


def flip(self: Meta, dims: tuple[int, ...]) -> OutSpec:
    wrap_dims(dims, len(self.shape))
    return OutSpec(self.shape, self.dtype, like_strides(self))


def roll(self: Meta, shifts: tuple[int, ...], dims: tuple[int, ...] = ()) -> OutSpec:
    require(bool(shifts), "`shifts` required")
    if dims or len(shifts) > 1:
        require(
            len(shifts) == len(dims),
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
        )
    rolled = self if dims else Meta(self.shape, self.dtype)
    for shift, dim in zip(shifts, dims, strict=False):
        if not self.shape:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        rolled = _rolled(rolled, shift, wrap_dim(dim, len(self.shape)))
    return OutSpec(self.shape, self.dtype, rolled.stride)


def _rolled(self: Meta, shift: int, dim: int) -> Meta:
    """The two parts of one dim, concatenated the other way round, as the CPU's kernel does it."""
    if 0 in self.shape:
        return Meta(self.shape, self.dtype, like_strides(self))
    size, strides = self.shape[dim], strides_of(self)
    first = shift % size
    parts = [Meta((*self.shape[:dim], n, *self.shape[dim + 1 :]), self.dtype, strides) for n in (first, size - first)]
    return Meta(self.shape, self.dtype, cat(tuple(parts), dim).stride)


def rot90(self: Meta, k: int = 1, dims: tuple[int, ...] = (0, 1)) -> OutSpec:
    require(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    require(len(self.shape) >= 2, f"expected total dims >= 2, but got total dims = {len(self.shape)}")
    a, b = (wrap_dim(d, len(self.shape)) for d in dims)
    require(a != b, f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if k % 4 == 0:
        return OutSpec(self.shape, self.dtype)
    # A flip, and for odd turns a transpose of its result.
    shape, strides = list(self.shape), list(like_strides(self) or contiguous_strides(self.shape))
    if k % 2:
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
    return OutSpec(tuple(shape), self.dtype, normal(tuple(shape), strides))


def triangle(name: str) -> Row:
    def rule(self: Meta, diagonal: int = 0) -> OutSpec:
        require(len(self.shape) >= 2, f"{name}: input tensor must have at least 2 dimensions")
        return OutSpec(self.shape, self.dtype)

    return rule


def constant_pad(self: Meta, pad: Shape, value: float = 0) -> OutSpec:
    """Pads from the last dim on; negative ones cut."""
    rank = len(self.shape)
    require(len(pad) % 2 == 0, f"Length of pad must be even but instead it equals {len(pad)}")
    require(
        len(pad) <= 2 * rank,
        f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
        f"while the input has {rank} dimensions.",
    )
    shape = list(self.shape)
    for i in range(len(pad) // 2):
        dim, (low, high) = rank - 1 - i, pad[2 * i : 2 * i + 2]
        shape[dim] += low + high
        require(
            shape[dim] >= 0,
            f"The input size {self.shape[dim]}, plus negative padding {low} and {high} resulted in a negative output "
            f"size, which is invalid. Check dimension {dim} of your input.",
        )
    padded = tuple(shape)
    check_numbers("aten.constant_pad_nd.default", (value,), self.dtype)
    if max(pad, default=0) <= 0:  # nothing added: a slice, cloned
        return OutSpec(padded, self.dtype, like_strides(Meta(padded, self.dtype, strides_of(self))))
    return OutSpec(padded, self.dtype, suggested_strides(self, padded))


def edge_pad(rank: int, keeps_format: bool, mirror: bool) -> Row:
    """reflection_pad and replication_pad over the last `rank` dims."""

    def rule(self: Meta, padding: Shape) -> OutSpec:
        shape = list(self.shape)
        for i in range(rank):
            dim, (low, high) = len(shape) - 1 - i, padding[2 * i : 2 * i + 2]
            if mirror:
                require(
                    low < shape[dim] and high < shape[dim],
                    "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                    f"({low}, {high}) at dimension {dim} of input {shown(self.shape)}",
                )
            shape[dim] += low + high
            require(
                shape[dim] >= 1, f"input (size: {self.shape[dim]}) is too small. Calculated output size: {shape[dim]}"
            )
        padded = tuple(shape)
        return OutSpec(padded, self.dtype, suggested_strides(self, padded) if keeps_format else None)

    return rule


def edge_pad_backward(keeps_format: bool) -> Row:
    def rule(grad_output: Meta, self: Meta, padding: Shape) -> OutSpec:
        return OutSpec(self.shape, grad_output.dtype, suggested_strides(self, self.shape) if keeps_format else None)

    return rule


def diag_embed(self: Meta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> OutSpec:
    rank = len(self.shape) + 1
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    require(first != second, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, side)
    return OutSpec(tuple(shape), self.dtype)


def block_diag(tensors: tuple[Meta, ...]) -> OutSpec:
    matrices = [(1,) * (2 - len(t.shape)) + t.shape for t in tensors]
    return OutSpec((sum(m[0] for m in matrices), sum(m[1] for m in matrices)), result_dtype(tensors))


def pixel_shuffle(self: Meta, factor: int) -> OutSpec:
    require(
        len(self.shape) >= 3,
        f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(self.shape)} dimension(s)",
    )
    require(factor > 0, f"pixel_shuffle expects a positive upscale_factor, but got {factor}")
    *batch, channels, height, width = self.shape
    require(
        channels % (factor * factor) == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        f"input.size(-3)={channels} is not divisible by {factor * factor}",
    )
    shape = (*batch, channels // (factor * factor), height * factor, width * factor)
    return OutSpec(shape, self.dtype, suggested_strides(self, shape))


def pixel_unshuffle(self: Meta, factor: int) -> OutSpec:
    require(factor > 0, f"pixel_unshuffle expects a positive downscale_factor, but got {factor}")
    *batch, channels, height, width = self.shape
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        require(
            size % factor == 0,
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} is not "
            f"divisible by {factor}",
        )
    shape = (*batch, channels * factor * factor, height // factor, width // factor)
    return OutSpec(shape, self.dtype, suggested_strides(self, shape))


def channel_shuffle(self: Meta, groups: int) -> OutSpec:
    return OutSpec(self.shape, self.dtype, suggested_strides(self, self.shape))


def unsafe_view(self: Meta, size: Shape) -> OutSpec:
    """A view whose alias nobody looks at: it keeps self's strides."""
    shape = infer_size(size, numel(self.shape))
    if self.stride is None:
        return OutSpec(shape, self.dtype)
    strides = viewed_strides(self.shape, self.stride, shape)
    if strides is None:
        fail(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return OutSpec(shape, self.dtype, normal(shape, strides))


def infer_size(size: Shape, elements: int) -> Shape:
    """The sizes with -1 worked out."""
    known = numel(tuple(s for s in size if s != -1))
    if -1 not in size:
        require(known == elements, f"shape '{shown(size)}' is invalid for input of size {elements}")
        return size
    require(size.count(-1) == 1, "only one dimension can be inferred")
    require(
        known != 0 or elements != 0,
        f"cannot reshape tensor of 0 elements into shape {shown(size)} because the unspecified dimension size -1 can "
        "be any value and is ambiguous",
    )
    require(
        known != 0 and elements % known == 0,
        f"shape '{shown(size)}' is invalid for input of size {elements}",
    )
    return tuple(elements // known if s == -1 else s for s in size)


def scatter_into(self: Meta, src: Meta, *_: Any) -> OutSpec:
    """slice_scatter, select_scatter, diagonal_scatter …: self, with a view of it replaced."""
    return OutSpec(self.shape, self.dtype, self.stride if _covers_itself_once(self) else like_strides(self))


def _covers_itself_once(self: Meta) -> bool:
    return self.stride is None or all(
        stride != 0 or size < 2 for size, stride in zip(self.shape, self.stride, strict=True)
    )


def view_backward(grad_output: Meta, input_sizes: Shape, *_: Any) -> OutSpec:
    return OutSpec(input_sizes, grad_output.dtype)


def unsafe_split(self: Meta, split_size: int, dim: int = 0) -> tuple[OutSpec, ...]:
    """Slices that eager returns as views: they keep self's strides."""
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim]
    count = max(1, -(-size // split_size)) if split_size else 1
    sizes = [split_size] * (count - 1) + [size - split_size * (count - 1)]
    return unsafe_split_with_sizes(self, tuple(sizes), dim)


def unsafe_split_with_sizes(self: Meta, split_sizes: Shape, dim: int = 0) -> tuple[OutSpec, ...]:
    dim = wrap_dim(dim, len(self.shape))
    total = self.shape[dim]
    require(
        sum(split_sizes) == total,
        f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size at dimension {dim}), but "
        f"got split_sizes={shown(split_sizes)}",
    )
    shapes = [(*self.shape[:dim], s, *self.shape[dim + 1 :]) for s in split_sizes]
    return tuple(OutSpec(shape, self.dtype, normal(shape, strides_of(self))) for shape in shapes)


def chunk_cat(tensors: tuple[Meta, ...], dim: int, num_chunks: int) -> OutSpec:
    """Each tensor padded to whole chunks along `dim`, flattened after it, side by side."""
    require(bool(tensors), "_chunk_cat expects a non-empty input tensor list")
    require(num_chunks >= 1, "_chunk_cat expects positive num_chunks")
    ranks = {len(t.shape) for t in tensors}
    require(dim >= 0 or len(ranks) == 1, "_chunk_cat expects non-negative dim when input tensors have different ndims")
    require(dim < min(ranks), "_chunk_cat expects dim < ndim for all input tensors")
    require(all(0 not in t.shape for t in tensors), "_chunk_cat expects non-empty tensor")
    dim = wrap_dim(dim, len(tensors[0].shape))
    same = len({t.shape[:dim] for t in tensors}) == 1
    require(same, "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    widths = [-(-t.shape[dim] // num_chunks) * numel(t.shape[dim + 1 :]) for t in tensors]
    return OutSpec((*tensors[0].shape[:dim], num_chunks, sum(widths)), tensors[0].dtype)


TABLE: Table = {
    **rows(cat, "cat"),
    **rows(stack, "stack"),
    **rows(repeat, "repeat"),
    **rows(flip, "flip"),
    **rows(roll, "roll"),
    **rows(rot90, "rot90"),
    **rows(triangle("tril"), "tril"),
    **rows(triangle("triu"), "triu"),
    **rows(constant_pad, "constant_pad_nd"),
    **rows(edge_pad(1, False, True), "reflection_pad1d"),
    **rows(edge_pad(2, True, True), "reflection_pad2d"),
    **rows(edge_pad(3, True, True), "reflection_pad3d"),
    **rows(edge_pad(1, False, False), "replication_pad1d"),
    **rows(edge_pad(2, True, False), "replication_pad2d"),
    **rows(edge_pad(3, True, False), "replication_pad3d"),
    **rows(edge_pad_backward(False), "reflection_pad1d_backward replication_pad1d_backward"),
    **rows(edge_pad_backward(True), "reflection_pad2d_backward replication_pad2d_backward"),
    **rows(edge_pad_backward(True), "reflection_pad3d_backward replication_pad3d_backward"),
    **rows(diag_embed, "diag_embed"),
    **rows(block_diag, "block_diag"),
    **rows(pixel_shuffle, "pixel_shuffle"),
    **rows(pixel_unshuffle, "pixel_unshuffle"),
    **rows(channel_shuffle, "channel_shuffle native_channel_shuffle"),
    **rows(unsafe_view, "_unsafe_view"),
    **rows(scatter_into, "slice_scatter select_scatter diagonal_scatter as_strided_scatter"),
    **rows(view_backward, "slice_backward select_backward diagonal_backward unfold_backward"),
    **rows(unsafe_split, "unsafe_split.Tensor"),
    **rows(unsafe_split_with_sizes, "unsafe_split_with_sizes"),
    **rows(chunk_cat, "_chunk_cat"),
}
