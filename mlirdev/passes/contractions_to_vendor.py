"""Let a vendor's library compute the contractions that one of its kernels fits: a call in place of a schedule.

    C = 0                                      func.call @vendor_call_0(A, B, C, places…, m, n, k, …)
    C[b, m, n] += A[b, m, k] · B[b, k, n]  ──►   per b, or per row where rows don't lie in one run
                                               func @vendor_call_0: addresses ─► call of the library

Does nothing without a vendor: the target's (option MLIRDEV_VENDOR), or this pass's own. A kernel fits by element
types, by how A, B and C lie (one dim of each contiguous, the other of a known stride) and by its least work; what none
fits goes on to schedule-contractions. What followed the contraction stays behind the call, as loops of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, add, as_value, for_loop, product
from mlirdev.passes.contraction import Contraction, find_contraction
from mlirdev.passes.linear import LinearAccess
from mlirdev.passes.nests import is_nest, read_nest
from mlirdev.passes.ops import emit, kernel_function, walk
from mlirdev.passes.schedule_contractions import zero_fill_before
from mlirdev.passes.vendor_calls import Matrix, define
from mlirdev.target import Target
from mlirdev.vendor import Vendor, VendorKernel, load_vendor

NAME = "contractions-to-vendor"
# Sizes are 32-bit numbers in these libraries.
_LARGEST = 2**31 - 1


def run(module: ir.Module, target: Target, *, vendor: str = "") -> None:
    if not (vendor or target.vendor):
        return
    chosen = load_vendor(vendor or target.vendor)
    for op in [op for op in walk(kernel_function(module)) if is_nest(op)]:
        contraction = find_contraction(read_nest(op))
        product = None if contraction is None else _as_product(contraction)
        kernel = None if product is None else _kernel_for(product, chosen)
        if product is not None and kernel is not None:
            _replace(module, product, chosen, kernel)


@dataclass(frozen=True)
class _Product:
    """A contraction as matrix products, one per index of `around`."""

    contraction: Contraction
    around: tuple[int, ...]
    m: Index
    n: Index
    k: Index
    a: Matrix
    b: Matrix
    c: Matrix


def _as_product(c: Contraction) -> _Product | None:
    """The contraction as products of matrices that BLAS can describe, or None."""
    m, n, k = _run_of(c, c.m, (c.a, c.c)), _run_of(c, c.n, (c.b, c.c)), _run_of(c, c.k, (c.a, c.b))
    if c.outer_k or k != c.k:
        return None
    with ir.InsertionPoint(c.nest.op), c.nest.op.location:
        rows, columns, depth = (product(c.extents(dims)) for dims in (m, n, k))
    a = _matrix(c.a, m, c.k, rows, depth)
    b = _matrix(c.b, c.k, n, depth, columns)
    out = _matrix(c.c, m, n, rows, columns)
    if a is None or b is None or out is None or out.transposed:
        return None
    around = tuple(d for d in (*c.batch, *c.m, *c.n) if d not in (*m, *n))
    return _Product(c, around, rows, columns, depth, a, b, out)


def _run_of(c: Contraction, dims: tuple[int, ...], accesses: Sequence[LinearAccess]) -> tuple[int, ...]:
    """The innermost of these dims over which all accesses go with one stride."""
    run = dims[-1:]
    for d in reversed(dims[:-1]):
        inner = run[0]
        extent = c.nest.extents[inner]
        if not isinstance(extent, int) or not all(_continues(x.strides[d], x.strides[inner], extent) for x in accesses):
            break
        run = (d, *run)
    return run


def _continues(outer: Index, inner: Index, extent: int) -> bool:
    return isinstance(outer, int) and isinstance(inner, int) and outer == inner * extent


def _matrix(x: LinearAccess, rows: Sequence[int], columns: Sequence[int], m: Index, n: Index) -> Matrix | None:
    """An access as a matrix of m rows and n columns, one of which must be contiguous, the others at a known stride."""
    steps = [x.strides[dims[-1]] if dims else 1 for dims in (rows, columns)]
    for transposed in (False, True):
        (outer, inner), (lines, length) = (steps, (m, n)) if not transposed else (steps[::-1], (n, m))
        if not isinstance(length, int) or (length != 1 and not (isinstance(inner, int) and inner == 1)):
            continue
        if isinstance(lines, int) and lines == 1:
            return Matrix(x.memref, transposed, max(1, length))
        if isinstance(outer, int) and max(1, length) <= outer <= _LARGEST:
            return Matrix(x.memref, transposed, outer)
    return None


def _kernel_for(p: _Product, vendor: Vendor) -> VendorKernel | None:
    sizes = (p.m, p.n, p.k)
    if any(isinstance(size, int) and size > _LARGEST for size in sizes):
        return None
    work = product([s for s in sizes if isinstance(s, int)]) if all(isinstance(s, int) for s in sizes) else None
    types = [str(x.memref.type.element_type) for x in (p.a, p.b, p.c)]
    for kernel in vendor.kernels:
        if types == [kernel.operands, kernel.operands, kernel.result] and (work is None or work >= kernel.least_work):
            return kernel
    return None


def _replace(module: Any, p: _Product, vendor: Vendor, kernel: VendorKernel) -> None:
    """Call the kernel in place of the contraction, and of the zeros that C starts from."""
    c, op = p.contraction, p.contraction.nest.op
    fill = zero_fill_before(op, c.c.memref)
    name = define(module, vendor.reference(kernel), kernel, (p.a, p.b, p.c), accumulates=fill is None)
    with ir.InsertionPoint(op), op.location, for_loop(0, product(c.extents(p.around))) as loop:
        places = [as_value(add(x.offset, c.offset(x, p.around, loop.iv))) for x in (c.a, c.b, c.c)]
        operands = [c.a.memref, c.b.memref, c.c.memref, *places, *map(as_value, (p.m, p.n, p.k))]
        emit("func.call", [], operands, callee=ir.FlatSymbolRefAttr.get(name))
    op.erase()
    if fill is not None:
        fill.erase()
