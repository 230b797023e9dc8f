"""What a convolution reads: an input with zeros around it, through a window.

    Axis      output o and tap k read element o · stride + k · dilation − before of one dim of the input
    Window    the axes, and how the other dims (samples, groups, channels) move through the input

Where the input of a contraction is a temporary that a kernel only filled with zeros and copied something into, the
window is one of the original: the copy needn't be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, add, multiply
from mlirdev.passes.contraction import Contraction
from mlirdev.passes.linear import LinearAccess, constant_of, is_linear, linearize
from mlirdev.passes.nests import VIEWS, Access, is_nest, read_nest, root_of, stride_of, uses_dim
from mlirdev.passes.ops import defining_op, users

_PURE = VIEWS | {"memref.alloc", "memref.dim"}
_CASTS = frozenset({"arith.extf"})


@dataclass(frozen=True)
class Axis:
    """A windowed dim of the input, of `size` elements that are `step` apart. `out` and `tap` are the contraction's dims
    that walk it; None: a dim of one."""

    out: int | None
    tap: int | None
    outs: int
    taps: int
    stride: int
    dilation: int
    before: int
    size: int
    step: int

    @property
    def reach(self) -> int:
        """How many elements the outputs and taps span."""
        return (self.outs - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def is_inside(self) -> bool:
        """Whether nothing beyond the input is read."""
        return self.before == 0 and self.reach <= self.size


@dataclass(frozen=True)
class Window:
    """Element `offset + Σ strides[d] · d + Σ step · position on the axis` of `memref`. `replaced` are the nests that
    made the padded copy."""

    memref: Any
    offset: Index
    strides: tuple[int, ...]
    axes: tuple[Axis, ...]
    replaced: tuple[Any, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is no window at all: each output reads one element, in place."""
        return all(a.taps == 1 and a.stride == 1 and a.is_inside for a in self.axes)


@dataclass(frozen=True)
class _Source:
    """The memory behind an operand: per dim the step between elements, zeros before them, and how many there are."""

    memref: Any
    offset: Index
    steps: tuple[Index, ...]
    before: tuple[int, ...]
    sizes: tuple[int, ...]
    replaced: tuple[Any, ...] = ()


def read_window(c: Contraction) -> Window | None:
    """How B of a contraction is read, if C's columns are axes of it and only the samples' number is a run-time size."""
    access = next(a for a in c.nest.inputs if isinstance(a, Access) and a.memref == c.b.memref)
    source = _find_source(access, c.nest.op)
    if source is None:
        return None
    dims = range(len(c.nest.parallel))
    strides: list[Index] = [0 for _ in dims]
    offset, axes = source.offset, []
    for position, expr in enumerate(access.exprs or ()):
        walked = {d: stride_of(expr, d) or 0 for d in dims if uses_dim(expr, d)}
        is_padded = source.before[position] != 0 or source.sizes[position] != access.memref.type.shape[position]
        if is_padded or any(d in c.n for d in walked):
            axis = _axis(c, walked, constant_of(expr), source, position)
            if axis is None:
                return None
            axes.append(axis)
            continue
        for d, stride in walked.items():
            strides[d] = add(strides[d], multiply(stride, source.steps[position]))
        offset = add(offset, multiply(constant_of(expr), source.steps[position]))
    on_axes = [d for a in axes for d in (a.out, a.tap) if d is not None]
    if len(set(on_axes)) != len(on_axes) or not set(c.n) <= set(on_axes):
        return None
    if any(strides[d] != 0 for d in on_axes) or not all(isinstance(s, int) for s in strides):
        return None
    return Window(source.memref, offset, tuple(strides), tuple(axes), source.replaced)


def before_copy(c: Contraction) -> tuple[LinearAccess, tuple[Any, ...]] | None:
    """A of a contraction as it lies where a nest only copied it from, and that nest: a gradient's weight is one with
    channels exchanged and taps reversed."""
    access = next(a for a in c.nest.inputs if isinstance(a, Access) and a.memref == c.a.memref)
    source = _behind_copy(access.memref, c.nest.op)
    if source is None or any(source.before) or source.sizes != tuple(access.memref.type.shape):
        return None
    dims = len(c.nest.parallel)
    strides: list[Index] = [0] * dims
    offset = source.offset
    for expr, step in zip(access.exprs or (), source.steps, strict=True):
        for d in range(dims):
            strides[d] = add(strides[d], multiply(stride_of(expr, d) or 0, step))
        offset = add(offset, multiply(constant_of(expr), step))
    if not all(isinstance(s, int) for s in strides):
        return None
    return LinearAccess(source.memref, tuple(strides), offset), source.replaced


def _axis(c: Contraction, walked: dict[int, int], constant: int, source: _Source, position: int) -> Axis | None:
    outs = [d for d in walked if d in c.n]
    taps = [d for d in walked if d in (*c.k, *c.outer_k)]
    step, size = source.steps[position], source.sizes[position]
    extents = c.extents([*outs, *taps])
    if len(outs) > 1 or len(taps) > 1 or len(walked) > len(outs) + len(taps) or min(walked.values(), default=1) < 1:
        return None
    if not all(isinstance(n, int) for n in (*extents, step, size)):
        return None
    numbers = iter(extents)
    return Axis(
        out=outs[0] if outs else None,
        tap=taps[0] if taps else None,
        outs=next(numbers) if outs else 1,
        taps=next(numbers) if taps else 1,
        stride=walked[outs[0]] if outs else 1,
        dilation=walked[taps[0]] if taps else 1,
        before=source.before[position] - constant,
        size=size,
        step=step,
    )


# --- the memory behind a padded copy ------------------------------------------------------------------


def _find_source(access: Access, reader: Any) -> _Source | None:
    memref = access.memref
    return _behind_copy(memref, reader) or _as_it_is(memref)


def _as_it_is(memref: Any) -> _Source | None:
    rank = memref.type.rank
    identity = Access(memref, tuple(ir.AffineExpr.get_dim(d) for d in range(rank)))
    if not is_linear(identity, rank):
        return None
    access = linearize(identity, rank)
    return _Source(memref, access.offset, access.strides, (0,) * rank, tuple(memref.type.shape))


def _behind_copy(memref: Any, reader: Any) -> _Source | None:
    """What was copied into a temporary, where that and zeros are all that it holds, and only `reader` reads it."""
    root = root_of(memref)
    owner = defining_op(root)
    if owner is None or owner.name != "memref.alloc":
        return None
    writers = [user for user in users_through_views(root) if user != reader]
    if not all(is_nest(w) and w.block == reader.block and w.is_before_in_block(reader) for w in writers):
        return None
    fills = [w for w in writers if fills_with_zero(w)]
    copies = [w for w in writers if w not in fills and not _copies_itself(w)]
    if len(copies) != 1 or not all(f.is_before_in_block(copies[0]) for f in fills):
        return None
    if any(_writes(w, root) != 1 for w in writers) or _is_disturbed(copies[0], reader):
        return None
    source = _copied(copies[0], root)
    if source is None or (source.sizes != tuple(root.type.shape) and not fills):
        return None
    return _seen_through(memref, root, source, tuple(writers))


def users_through_views(memref: Any) -> Iterator[Any]:
    for user in {id(u): u for u in users(memref)}.values():
        if user.name in VIEWS:
            for result in user.results:
                yield from users_through_views(result)
        else:
            yield user


def _writes(op: Any, root: Any) -> int:
    """How many outputs a nest has, all of which lie in `root`; else 0."""
    outputs = read_nest(op).outputs
    return len(outputs) if all(access.root == root for access in outputs) else 0


def fills_with_zero(op: Any) -> bool:
    """Whether a nest does nothing but write zeros to all of a buffer, or of a view of one."""
    nest = read_nest(op)
    body = [view.operation for view in nest.block.operations]
    if len(op.operands) > 2 or [b.name for b in body] != ["linalg.yield"] or not all(nest.parallel):
        return False
    owner = defining_op(nest.outputs[0].memref)
    if owner is not None and owner.name == "memref.subview":
        return False
    value = body[0].operands[0]
    arguments = list(nest.block.arguments)
    source = op.operands[arguments.index(value)] if value in arguments else value
    maker = defining_op(source)
    if maker is None or maker.name != "arith.constant":
        return False
    attribute = maker.attributes["value"]
    return isinstance(attribute, ir.FloatAttr) and attribute.value == 0.0


def _copies_itself(op: Any) -> bool:
    nest = read_nest(op)
    same = len(nest.inputs) == 1 and isinstance(nest.inputs[0], Access) and nest.inputs[0] == nest.outputs[0]
    return same and _body_is_copy(nest)


def _body_is_copy(nest: Any) -> bool:
    """Whether the body passes its first argument on, perhaps extended."""
    *casts, end = [view.operation for view in nest.block.operations]
    value = nest.block.arguments[0]
    for op in casts:
        if op.name not in _CASTS or op.operands[0] != value:
            return False
        value = op.results[0]
    return bool(end.operands[0] == value)


def _is_disturbed(copy: Any, reader: Any) -> bool:
    """Whether something between the copy and its reader may change what was copied."""
    root = root_of(copy.operands[0])
    between = False
    for view in copy.block.operations:
        op = view.operation
        if op == reader:
            return False
        if between and is_nest(op):
            if any(access.root == root for access in read_nest(op).outputs):
                return True
        elif between and op.name not in _PURE and not op.name.startswith("arith."):
            return True
        between = between or op == copy
    return True


def _copied(op: Any, root: Any) -> _Source | None:
    """What a copying nest reads, by the dims of `root` that it writes to."""
    nest = read_nest(op)
    dims = len(nest.parallel)
    place = _place_in(nest.outputs[0].memref, root)
    order = nest.outputs[0].plain_dims()
    if len(nest.inputs) != 1 or not isinstance(nest.inputs[0], Access) or nest.captured or place is None:
        return None
    if not _body_is_copy(nest) or not is_linear(nest.inputs[0], dims) or sorted(order, key=str) != list(range(dims)):
        return None
    with ir.InsertionPoint(op), op.location:
        access = linearize(nest.inputs[0], dims)
    steps = tuple(access.strides[d] for d in order if d is not None)
    return _Source(access.memref, access.offset, steps, *place)


def _place_in(memref: Any, root: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Where in `root` a piece of it starts, and its sizes."""
    if memref == root:
        return (0,) * root.type.rank, tuple(root.type.shape)
    op = defining_op(memref)
    if op is None or op.name != "memref.subview" or op.operands[0] != root or memref.type.rank != root.type.rank:
        return None
    offsets, steps = (tuple(ir.DenseI64ArrayAttr(op.attributes[f"static_{n}"])) for n in ("offsets", "strides"))
    unknown = ir.ShapedType.get_dynamic_size()
    return None if unknown in offsets or set(steps) != {1} else (offsets, tuple(memref.type.shape))


def _seen_through(memref: Any, root: Any, source: _Source, writers: Sequence[Any]) -> _Source | None:
    """The source by the dims of `memref`, which is the temporary or a view that parts its dims."""
    op = defining_op(memref)
    if memref == root:
        groups = [[d] for d in range(root.type.rank)]
    elif op is not None and op.name == "memref.expand_shape" and op.operands[0] == root:
        groups = [[ir.IntegerAttr(d).value for d in group] for group in op.attributes["reassociation"]]
    else:
        return None
    steps: list[Index] = []
    before: list[int] = []
    sizes: list[int] = []
    for position, group in enumerate(groups):
        extents = [memref.type.shape[d] for d in group]
        if len(group) != 1 and (source.before[position] or source.sizes[position] != root.type.shape[position]):
            return None
        inner: list[Index] = [source.steps[position]]
        for extent in reversed(extents[1:]):
            if extent < 0:
                return None
            inner.insert(0, multiply(inner[0], extent))
        steps += inner
        before += [source.before[position]] * len(group)
        sizes += extents if len(group) != 1 else [source.sizes[position]]
    return _Source(source.memref, source.offset, tuple(steps), tuple(before), tuple(sizes), tuple(writers))
