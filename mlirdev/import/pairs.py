"""Complex numbers as pairs of real tensors.

    complex input ──own.real, own.imag──► re, im ──real operators──► re, im ──own.complex──► complex output

A complex value of the graph is a value like any other, interleaved in memory as PyTorch has it. Rules for
complex nodes (registry.COMPLEX) ask for its parts, compute with those alone, and give the pair; the own.complex
of a pair that nobody else reads is dropped with other dead code. So no later stage sees complex arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Node, TensorSpec

from . import dims
from .tensor import Number, Tensor, spec_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def complex_of(part: DType) -> DType:
    """The complex type whose parts have this type."""
    return DType.c128 if part is DType.f64 else DType.c64


def is_complex(node: Node, specs: Sequence[TensorSpec]) -> bool:
    """Whether complex numbers take part."""
    if any(s.dtype.is_complex for s in node.results) or any(specs[o].dtype.is_complex for o in node.operands()):
        return True
    return any(isinstance(arg, complex) for arg in node.args)


def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Real and imaginary part; of a real tensor, itself and zero."""
    rw = x.rewriter
    if not x.dtype.is_complex:
        return x, rw.zeros((), x.dtype).expand(x.shape)
    if x.number not in rw.parts:
        spec = spec_of(x.shape, x.dtype.real)
        re, im = (rw.keep(Node(name, (x.ref,), (spec,)))[0] for name in ("own.real", "own.imag"))
        rw.parts[x.number] = (re, im)
    return rw.parts[x.number]


def paired(re: Tensor, im: Tensor) -> Tensor:
    """The complex tensor of two real ones of one dtype, broadcast."""
    rw, shape = re.rewriter, dims.broadcast(re.shape, im.shape)
    re, im = re.expand(shape), im.expand(shape)
    value = rw.keep(Node("own.complex", (re.ref, im.ref), (spec_of(shape, complex_of(re.dtype)),)))[0]
    rw.parts[value.number] = (re, im)
    rw.paired.add(value.number)
    return value


def parts_of_number(value: Number) -> tuple[Number, Number]:
    return (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
