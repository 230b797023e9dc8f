"""Replace contractions on buffers by our schedules: gemm.py, dot.py, direct_convolution.py.

What they don't fit stays for linalg-to-loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch_mlir import ir

from mlirdev.passes import amx, direct_convolution
from mlirdev.passes.build import product
from mlirdev.passes.contraction import Contraction, find_contraction
from mlirdev.passes.contraction_blocks import Surroundings
from mlirdev.passes.contraction_layout import columns_in_one_run, copy_left, has_short_runs, reorder_result
from mlirdev.passes.dot import Dot, suits
from mlirdev.passes.epilogue import EpilogueEmitter, EpilogueNest, find_epilogue, reuse_destination
from mlirdev.passes.gemm import Gemm
from mlirdev.passes.nests import VIEWS, is_nest, read_nest, root_of
from mlirdev.passes.ops import defining_op, kernel_function, users, walk
from mlirdev.passes.window import before_copy, fills_with_zero, read_window, users_through_views
from mlirdev.target import Target

NAME = "schedule-contractions"

_RESHAPES = frozenset({"memref.collapse_shape", "memref.expand_shape", "memref.cast"})

# The first one that suits a contraction is taken.
_SCHEDULES: tuple[tuple[Callable[[Contraction, Target, Surroundings], Any], Callable[[Contraction, Target], bool]], ...]
_SCHEDULES = ((amx.Amx, amx.suits), (Dot, suits), (Gemm, lambda _contraction, _target: True))


def run(module: ir.Module, target: Target, *, least_work: int = 4096) -> None:
    for op in [op for op in walk(kernel_function(module)) if is_nest(op) and not _is_parallel(op)]:
        contraction = find_contraction(read_nest(op))
        if contraction is None or not _has_enough_work(contraction, least_work) or _belongs_to_rows(contraction):
            continue
        if _schedule_convolution(contraction, target):
            continue
        _improve_layouts(contraction, target)
        contraction = find_contraction(read_nest(op)) or contraction
        if _suits_a_schedule(contraction, target):
            _schedule(contraction, target)


def _improve_layouts(contraction: Contraction, target: Target) -> None:
    """See contraction_layout.py."""
    op = contraction.nest.op
    fill = zero_fill_before(op, contraction.c.memref)
    order = columns_in_one_run(contraction, target.lanes(contraction.c.element_type.width))
    if fill is not None and order is not None and contraction.c.memref in fill.operands:
        reorder_result(op, fill, order)
    with ir.InsertionPoint(op), op.location:
        contraction = find_contraction(read_nest(op)) or contraction
    if has_short_runs(contraction):
        copy_left(contraction)


def _schedule_convolution(contraction: Contraction, target: Target) -> bool:
    """Whether the contraction was a convolution that direct_convolution.py is for."""
    op = contraction.nest.op
    fill = zero_fill_before(op, contraction.c.memref)
    with ir.InsertionPoint(op), op.location:
        window = read_window(contraction)
    if fill is None or window is None or not direct_convolution.suits(contraction, window, target):
        return False
    epilogue = find_epilogue(contraction)
    done = [*(e.nest.op for e in reversed(epilogue)), op, fill]
    temporaries = [root_of(access.memref) for access in (contraction.a, contraction.b, contraction.c)]
    with ir.InsertionPoint(op), op.location:
        weight = before_copy(contraction)
        if weight is not None:
            contraction = replace(contraction, a=weight[0])
            done += weight[1]
        emitter = EpilogueEmitter(contraction, epilogue) if epilogue else None
        is_kept = _is_used_elsewhere(contraction.c.memref, done)
        direct_convolution.DirectConvolution(contraction, window, target, emitter, is_kept).emit()
    for nest in dict.fromkeys((*done, *window.replaced)):
        nest.erase()
    for memref in temporaries:
        _erase_unused(memref)
    return True


def _is_used_elsewhere(memref: Any, own: list[Any]) -> bool:
    """Whether a buffer is a result of the kernel, or ops other than these touch it."""
    root = root_of(memref)
    owner = defining_op(root)
    return owner is None or owner.name != "memref.alloc" or any(u not in own for u in users_through_views(root))


def _erase_unused(memref: Any) -> None:
    """A temporary without users, or with views of it only."""
    owner = defining_op(memref)
    if owner is None or owner.name not in VIEWS | {"memref.alloc"}:
        return
    for user in users(memref):
        for result in user.results if user.name in VIEWS else ():
            _erase_unused(result)
    if not users(memref):
        owner.erase()


def _schedule(contraction: Contraction, target: Target) -> None:
    op = contraction.nest.op
    fill = zero_fill_before(op, contraction.c.memref)
    epilogue = find_epilogue(contraction)
    reuse_destination(contraction, epilogue)
    with ir.InsertionPoint(op), op.location:
        contraction = find_contraction(read_nest(op)) or contraction
        epilogue = [EpilogueNest(read_nest(e.nest.op), e.loop_of) for e in epilogue]
        emitter = EpilogueEmitter(contraction, epilogue) if epilogue else None
        done = [*(e.nest.op for e in reversed(epilogue)), op, *([fill] if fill else [])]
        around = Surroundings(fill is not None, emitter, _is_used_elsewhere(contraction.c.memref, done))
        schedule = next(schedule for schedule, suits in _SCHEDULES if suits(contraction, target))
        schedule(contraction, target, around).emit()
    result = root_of(contraction.c.memref)
    for nest in done:
        nest.erase()
    _erase_unused(result)


def _is_parallel(op: Any) -> bool:
    return all("parallel" in str(a) for a in op.attributes["iterator_types"])


def _belongs_to_rows(c: Contraction) -> bool:
    """Whether this is a row's sum of products in a kernel that goes over the same rows for more: their loop takes it
    in, and reads each row once."""
    if (c.m and c.n) or len(c.k) != 1:
        return False
    matrix = (c.a if c.m else c.b).memref
    return any(is_nest(user) and user != c.nest.op for user in users(matrix))


def _has_enough_work(c: Contraction, least_work: int) -> bool:
    if not isinstance(c.c.element_type, (ir.F32Type, ir.F64Type)) or c.a.strides[c.k[-1]] is None:
        return False
    sizes = [e for e in c.nest.extents if isinstance(e, int)]
    return len(sizes) < len(c.nest.extents) or product(sizes) >= least_work


def _suits_a_schedule(c: Contraction, target: Target) -> bool:
    """Packing wants more than one row and a vector of columns."""
    rows, columns = (product_or_none(c.extents(d)) for d in (c.m, c.n))
    is_thin = (rows is not None and rows < 2) or (columns is not None and columns < 4)
    return not is_thin or suits(c, target)


def product_or_none(extents: list[Any]) -> int | None:
    return product(extents) if all(isinstance(e, int) for e in extents) else None


def zero_fill_before(op: Any, memref: Any) -> Any | None:
    """The generic that fills C with zeros, if nothing else touches C in between."""
    root = root_of(memref)
    touching = [user for user in users_through_views(root) if user != op and user.name != "memref.dim"]
    if any(user.block != op.block for user in touching) or not _is_all_of(memref, root):
        return None
    last = None
    for user in touching:
        if user.is_before_in_block(op):
            last = user if last is None or last.is_before_in_block(user) else last
    if last is None or not is_nest(last) or not fills_with_zero(last):
        return None
    return last if _is_all_of(read_nest(last).outputs[0].memref, root) else None


def _is_all_of(memref: Any, root: Any) -> bool:
    if _reshaped_from(memref) == root:
        return True
    static = memref.type.has_static_shape and root.type.has_static_shape
    return bool(static and math.prod(memref.type.shape) == math.prod(root.type.shape))


def _reshaped_from(memref: Any) -> Any:
    """The buffer of which this one has the same elements in another shape."""
    while (op := defining_op(memref)) is not None and op.name in _RESHAPES:
        memref = op.operands[0]
    return memref
