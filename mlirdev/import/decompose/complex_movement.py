"""Complex numbers moved: by the rules for real ones, whose last steps move both parts alike, or the whole numbers.

aten.cat ──the rule for reals──► own.concat ──here──► two own.concat of parts, one own.complex
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref

from .. import dims
from ..dims import int_of
from ..pairs import paired, parts, parts_of_number
from ..registry import COMPLEX, DECOMPOSITIONS, Rule, complex_rule, decomposition
from ..tensor import Tensor, spec_of
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def as_for_reals(rw: Rewriter, node: Node) -> Tensor | list[Tensor]:
    """The ordinary rule: it doesn't look at what the elements are."""
    result = DECOMPOSITIONS[node.op](rw, node)
    return result if isinstance(result, Tensor) else list(result)


def by_parts(rw: Rewriter, node: Node) -> list[Tensor]:
    """Once on the real parts, once on the imaginary ones; other operands (indices, conditions) are the same."""
    sides = [_on_part(rw, node, part) for part in (0, 1)]
    return [paired(re, im) if re.dtype.is_float else re for re, im in zip(*sides, strict=True)]


def _on_part(rw: Rewriter, node: Node, part: int) -> list[Tensor]:
    def of(arg: Arg) -> Arg:
        if isinstance(arg, tuple):
            return tuple(of(a) for a in arg)
        if isinstance(arg, Ref) and rw.specs[arg.value].dtype.is_complex:
            return parts(rw.tensor(arg))[part].ref
        return arg

    results = [spec_of(s.shape, s.dtype.real) for s in node.results]
    return rw.emit(node.op, [of(a) for a in node.args], results)


def whole_or_by_parts(rw: Rewriter, node: Node) -> list[Tensor]:
    """Numbers that nothing was computed with stay whole: a piece of memory is cut or seen otherwise."""
    first = node.args[0]
    assert isinstance(first, Ref)
    return by_parts(rw, node) if first.value in rw.paired else rw.keep(node)


def _register(rule: Rule, names: str) -> None:
    COMPLEX.update(dict.fromkeys(names.split(), rule))


_register(by_parts, "own.expand own.permute own.flip own.concat own.masked_put")
_register(
    whole_or_by_parts,
    "own.slice own.view own.write_slice own.index own.take_along "
    "mlirdev.strided_read mlirdev.strided_read.default mlirdev.strided_write mlirdev.strided_write.default",
)
_MOVEMENT = """
    view _unsafe_view reshape view_copy _reshape_copy _reshape_alias squeeze squeeze.dim squeeze.dims squeeze_copy
    squeeze_copy.dim squeeze_copy.dims unsqueeze unsqueeze_copy flatten.using_ints unflatten.int
    expand expand_copy broadcast_to expand_as permute permute_copy transpose.int transpose_copy.int t t_copy numpy_T
    select.int select_copy.int slice.Tensor slice_copy.Tensor narrow_copy narrow cat concat concatenate stack
    split.Tensor split_copy.Tensor split_with_sizes split_with_sizes_copy tensor_split.sections chunk
    unsafe_chunk unsafe_split.Tensor unbind.int unbind_copy.int repeat tile repeat_interleave.self_int
    flip roll rot90 tril triu diag_embed diag_embed_copy block_diag trace
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward
    replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
    slice_backward slice_scatter select_backward select_scatter diagonal diagonal_copy diagonal_backward
    diagonal_scatter unfold unfold_copy unfold_backward pixel_shuffle pixel_unshuffle channel_shuffle im2col col2im
    embedding index_select gather take index.Tensor _unsafe_index.Tensor index_put _unsafe_index_put _index_put_impl
    scatter.src scatter.value scatter_add index_add put masked_scatter index_copy
    index_fill.int_Scalar index_fill.int_Tensor masked_fill.Scalar masked_fill.Tensor
    where.Scalar where.ScalarSelf where.ScalarOther masked_scatter_backward _unsafe_masked_index
    _unsafe_masked_index_put_accumulate nonzero_static _chunk_cat constant_pad_nd
    full full_like fill.Scalar fill.Tensor new_full scalar_tensor zeros zeros_like new_zeros zero empty.memory_format
    empty_like new_empty empty_strided new_empty_strided empty_permuted ones ones_like new_ones eye eye.m
    clone alias detach lift_fresh_copy lift_fresh lift contiguous alias_copy detach_copy positive copy _to_copy
    _efficientzerotensor
"""
_register(as_for_reals, " ".join(f"aten.{n}" if "." in n else f"aten.{n}.default" for n in _MOVEMENT.split()))
_register(as_for_reals, "prims.convert_element_type.default mlirdev.empty mlirdev.empty.default")


@complex_rule("own.put", "own.scatter")
def stored(rw: Rewriter, node: Node) -> list[Tensor]:
    """Sums by parts; a number that only replaces another, whole."""
    return by_parts(rw, node) if node.args[-1] else whole_or_by_parts(rw, node)


@complex_rule("aten.where.self")
def where(rw: Rewriter, node: Node) -> list[Tensor]:
    dtype = node.results[0].dtype
    a, b = (rw.tensor(v, dtype) for v in node.args[1:])
    return by_parts(rw, Node(node.op, (rw.tensor(node.args[0], DType.i1).ref, a.ref, b.ref), node.results))


@complex_rule("own.cast")
def cast(rw: Rewriter, node: Node) -> Tensor:
    """To a real type: the real part; to bool: whether either part isn't zero."""
    x, dtype = rw.tensor(node.args[0]), node.results[0].dtype
    re, im = parts(x)
    if dtype.is_complex:
        return paired(re.to(dtype.real), im.to(dtype.real))
    return re.compare("ne", 0.0) | im.compare("ne", 0.0) if dtype is DType.i1 else re.to(dtype)


@complex_rule("own.pad")
def pad(rw: Rewriter, node: Node) -> Tensor:
    x, amounts, value = node.args
    sides = zip(parts(rw.tensor(x)), parts_of_number(number(value)), strict=True)
    specs = [spec_of(s.shape, s.dtype.real) for s in node.results]
    re, im = (rw.emit(node.op, [side.ref, amounts, v], specs)[0] for side, v in sides)
    return paired(re, im)


@complex_rule("mlirdev.bitcast", "mlirdev.bitcast.default")
def bitcast(rw: Rewriter, node: Node) -> Tensor:
    """Through the parts as one row of reals, which is what lies in memory."""
    x, dtype = rw.tensor(node.args[0]), node.results[0].dtype
    if x.dtype.is_complex:
        x = interleaved(x)
    if not dtype.is_complex:
        return x if x.dtype is dtype else _as(x, dtype)
    x = x if x.dtype is dtype.real else _as(x, dtype.real)
    halves = x.view((*x.shape[:-1], dims.floordiv(x.shape[-1], 2), 2))
    re, im = (halves.slice(halves.rank - 1, k, k + 1).view(halves.shape[:-1]) for k in (0, 1))
    return paired(re, im).view(node.results[0].shape)


def _as(x: Tensor, dtype: DType) -> Tensor:
    before, after = x.dtype.itemsize, dtype.itemsize
    last = dims.floordiv(dims.mul(x.shape[-1], before), after)
    args: list[Arg] = [x.ref, dtype]
    return x.rewriter.emit("mlirdev.bitcast", args, [spec_of((*x.shape[:-1], last), dtype)])[0]


def interleaved(x: Tensor) -> Tensor:
    """re, im, re, im, … along the last dim."""
    x = x if x.rank else x.view((1,))
    re, im = parts(x)
    value = x.rewriter.joined([re.unsqueeze(-1), im.unsqueeze(-1)], x.rank)
    value = value.view((*x.shape[:-1], dims.mul(x.shape[-1], 2)))
    x.rewriter.interleaved[value.number] = x
    return value


@decomposition("own.view")
def view_of_interleaved(rw: Rewriter, node: Node) -> list[Tensor]:
    """It is known through views and slices whose parts a value has: z[3].real is the real part of z[3] alone."""
    values, shape = rw.keep(node), node.results[0].shape
    assert isinstance(node.args[0], Ref)
    whole = rw.interleaved.get(node.args[0].value)
    if whole is not None and shape and isinstance(shape[-1], int) and shape[-1] % 2 == 0:
        rw.interleaved[values[0].number] = whole.view((*shape[:-1], shape[-1] // 2))
    return values


@decomposition("own.slice")
def slice_of_interleaved(rw: Rewriter, node: Node) -> list[Tensor]:
    """Along the last dim, every second element is a part."""
    x, dim, start, step = node.args
    assert isinstance(x, Ref)
    whole, shape, first, by = rw.interleaved.get(x.value), node.results[0].shape, dims.size_of(start), int_of(step)
    if whole is None:
        return rw.keep(node)
    axis = int_of(dim)
    if axis == whole.rank - 1:
        alternate = first in (0, 1) and whole.shape == shape and (by == 2 or shape[-1] == 1)
        return [parts(whole)[int_of(start)]] if alternate else rw.keep(node)
    values = rw.keep(node)
    end = dims.add(first, dims.mul(shape[axis], by))
    rw.interleaved[values[0].number] = whole.slice(axis, first, end, by, shape[axis])
    return values
