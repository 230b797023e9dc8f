"""Matrix products. Results are contiguous; operands share one dtype."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import c_name, check_expandable, crossed, fail, require, shown, title
from mlirdev.lazy.specs.layout import strides_of
from mlirdev.lazy.specs.pointwise import elementwise
from mlirdev.lazy.specs.promotion import result_dtype
from mlirdev.lazy.specs.types import Meta, OutSpec, Shape, Table, rows


def _same_dtype(a: Meta, b: Meta) -> None:
    if a.dtype is not b.dtype:
        fail(f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}")


def _product(mat1: Meta, mat2: Meta) -> Shape:
    require(len(mat1.shape) == 2, f"mat1 must be a matrix, got {len(mat1.shape)}-D tensor")
    require(len(mat2.shape) == 2, f"mat2 must be a matrix, got {len(mat2.shape)}-D tensor")
    require(
        mat1.shape[1] == mat2.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({crossed(mat1.shape)} and {crossed(mat2.shape)})",
    )
    return mat1.shape[0], mat2.shape[1]


def mm(self: Meta, mat2: Meta) -> OutSpec:
    require(len(self.shape) == 2, "self must be a matrix")
    require(len(mat2.shape) == 2, "mat2 must be a matrix")
    shape = _product(self, mat2)
    _same_dtype(self, mat2)
    return OutSpec(shape, self.dtype)


def addmm(self: Meta, mat1: Meta, mat2: Meta, *_: Any) -> OutSpec:
    shape = _product(mat1, mat2)
    _expandable(self.shape, shape)
    _same_dtype(mat1, mat2)
    require(
        self.dtype is mat2.dtype, f"self and mat2 must have the same dtype, but got {title(self)} and {title(mat2)}"
    )
    return OutSpec(shape, self.dtype)


def _expandable(shape: Shape, target: Shape) -> None:
    message = (
        f"The expanded size of the tensor ({{}}) must match the existing size ({{}}) at non-singleton dimension {{}}.  "
        f"Target sizes: {shown(target)}.  Tensor sizes: {shown(shape)}"
    )
    lead = len(target) - len(shape)
    require(
        lead >= 0,
        f"expand: the requested shape has too few dimensions: {shown(target)} for a tensor of sizes {shown(shape)}",
    )
    for i, (have, want) in enumerate(zip(shape, target[lead:], strict=True)):
        require(have in (1, want), message.format(want, have, lead + i))


def _batched(a: Meta, b: Meta, first: str, second: str) -> Shape:
    require(len(a.shape) == 3, f"{first} must be a 3D tensor")
    require(len(b.shape) == 3, f"{second} must be a 3D tensor")
    batch, rows_, inner = a.shape
    require(
        b.shape[0] == batch and b.shape[1] == inner,
        f"Expected size for first two dimensions of {second} tensor to be: [{batch}, {inner}] but got: "
        f"[{b.shape[0]}, {b.shape[1]}].",
    )
    return batch, rows_, b.shape[2]


def bmm(self: Meta, mat2: Meta) -> OutSpec:
    shape = _batched(self, mat2, "batch1", "batch2")
    require(self.dtype is mat2.dtype, f"expected scalar type {title(self)} but found {title(mat2)}")
    return OutSpec(shape, self.dtype)


def baddbmm(self: Meta, batch1: Meta, batch2: Meta, *_: Any) -> OutSpec:
    shape = _batched(batch1, batch2, "batch1", "batch2")
    _expandable(self.shape, shape)
    require(
        self.dtype is batch1.dtype,
        f"Input dtypes must be the same, got: input: {c_name(self)}, batch1: {c_name(batch1)}, "
        f"batch2: {c_name(batch2)}",
    )
    return OutSpec(shape, self.dtype)


def addbmm(self: Meta, batch1: Meta, batch2: Meta, *_: Any) -> OutSpec:
    shape = _batched(batch1, batch2, "batch1", "batch2")[1:]
    _expandable(self.shape, shape)
    return OutSpec(shape, self.dtype)


def mv(self: Meta, vec: Meta) -> OutSpec:
    require(
        len(self.shape) == 2 and len(vec.shape) == 1,
        f"vector + matrix @ vector expected, got 1, {len(self.shape)}, {len(vec.shape)}",
    )
    _mv_sizes(self, vec)
    return OutSpec(self.shape[:1], self.dtype)


def addmv(self: Meta, mat: Meta, vec: Meta, *_: Any) -> OutSpec:
    require(
        len(mat.shape) == 2 and len(vec.shape) == 1 and len(self.shape) <= 1,
        f"vector + matrix @ vector expected, got {len(self.shape)}, {len(mat.shape)}, {len(vec.shape)}",
    )
    _mv_sizes(mat, vec)
    _expandable(self.shape, mat.shape[:1])
    return OutSpec(mat.shape[:1], vec.dtype)


def _mv_sizes(mat: Meta, vec: Meta) -> None:
    m, n = mat.shape
    require(n == vec.shape[0], f"size mismatch, got input ({m}), mat ({m}x{n}), vec ({vec.shape[0]})")
    require(mat.dtype is vec.dtype, f"expected scalar type {title(mat)} but found {title(vec)}")


def dot(self: Meta, tensor: Meta) -> OutSpec:
    require(
        len(self.shape) == 1 and len(tensor.shape) == 1,
        f"1D tensors expected, but got {len(self.shape)}D and {len(tensor.shape)}D tensors",
    )
    require(
        self.dtype is tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {title(self)} and {title(tensor)}",
    )
    a, b = self.shape[0], tensor.shape[0]
    require(
        a == b,
        f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of "
        f"elements, but got {a} and {b} elements respectively",
    )
    return OutSpec((), self.dtype)


def addr(self: Meta, vec1: Meta, vec2: Meta, *_: Any) -> OutSpec:
    require(
        len(vec1.shape) == 1 and len(vec2.shape) == 1,
        f"addr: Expected 1-D argument vec1 and vec2, but got {len(vec1.shape)}-D and {len(vec2.shape)}-D",
    )
    shape = (vec1.shape[0], vec2.shape[0])
    check_expandable(self.shape, shape, f"addr: cannot expand {shown(self.shape)} to {shown(shape)}")
    column = Meta((shape[0], 1), vec1.dtype, (_step(vec1), 0))
    row = Meta((shape[1],), vec2.dtype, vec2.stride)
    full = Meta(shape, self.dtype, _expanded_strides(self, shape))
    return elementwise((full, column, row), result_dtype((self, vec1, vec2)))


def _step(vector: Meta) -> int:
    return 1 if vector.stride is None else vector.stride[0]


def _expanded_strides(meta: Meta, shape: Shape) -> Shape:
    lead = len(shape) - len(meta.shape)
    own = strides_of(meta)
    kept = (0 if have == 1 and want != 1 else s for have, want, s in zip(meta.shape, shape[lead:], own, strict=True))
    return (0,) * lead + tuple(kept)


def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> OutSpec:
    rank = len(weight.shape)
    require(rank in (1, 2), f"weight must be 1D or 2D, got {rank}D tensor")
    require(bool(input.shape), "both arguments to linear need to be at least 1D, but they are 0D and 2D")
    columns = weight.shape[-1]
    rows_ = 1
    for size in input.shape[:-1]:
        rows_ *= size
    turned = f"{columns}x{weight.shape[0]}" if rank == 2 else f"{columns}"
    require(
        input.shape[-1] == columns,
        f"mat1 and mat2 shapes cannot be multiplied ({rows_}x{input.shape[-1]} and {turned})",
    )
    shape = (*input.shape[:-1], weight.shape[0]) if rank == 2 else input.shape[:-1]
    if bias is not None:
        _expandable(bias.shape, shape)
    require(
        input.dtype is weight.dtype,
        f"mat1 and mat2 must have the same dtype, but got {title(input)} and {title(weight)}",
    )
    return OutSpec(shape, input.dtype)


def mm_in(self: Meta, mat2: Meta, out_dtype: torch.dtype) -> OutSpec:
    return mm(self, mat2)._replace(dtype=out_dtype)


def bmm_in(self: Meta, mat2: Meta, out_dtype: torch.dtype) -> OutSpec:
    return bmm(self, mat2)._replace(dtype=out_dtype)


def linear_backward(
    self: Meta, grad_output: Meta, weight: Meta, output_mask: tuple[bool, bool, bool]
) -> tuple[OutSpec | None, ...]:
    grads = (
        OutSpec(self.shape, self.dtype),
        OutSpec(weight.shape, weight.dtype),
        OutSpec(weight.shape[:1], weight.dtype),
    )
    return tuple(g if wanted else None for g, wanted in zip(grads, output_mask, strict=True))


TABLE: Table = {
    **rows(mm, "mm"),
    **rows(addmm, "addmm _addmm_activation"),
    **rows(bmm, "bmm"),
    **rows(baddbmm, "baddbmm"),
    **rows(addbmm, "addbmm"),
    **rows(mv, "mv"),
    **rows(addmv, "addmv"),
    **rows(dot, "dot vdot"),
    **rows(addr, "addr"),
    **rows(linear, "linear"),
    **rows(mm_in, "mm.dtype"),
    **rows(bmm_in, "bmm.dtype"),
    **rows(linear_backward, "linear_backward"),
}
