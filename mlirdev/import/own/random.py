"""mlirdev.philox: counter-based random words (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy
as 1, 2, 3", SC 2011)."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..emitter import Emitter
from .registry import own

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


@own("mlirdev.philox", "mlirdev.philox.default")
def philox(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """philox(seed, offset, sizes): element n is word n % 4 of the block with counter offset + n // 4."""
    seed, offset = e.integer(node.args[0]), e.integer(node.args[1])
    shape = node.results[0].shape

    def body() -> ir.Value:
        number = e.constant(0, e.i64)
        for d, size in enumerate(shape):
            number = e.add(e.mul(number, e.dim_i64(size)), e.iteration(d))
        block = e.add(offset, e.binary("shrui", number, e.constant(2, e.i64)))
        zero = e.constant(0, e.i64)
        words = philox4x32(e, block, seed, (zero, zero))
        return _word(e, words, e.binary("andi", number, e.constant(3, e.i64)))

    return [e.generic(shape, e.i64, [], body)]


def philox4x32(e: Emitter, counter: ir.Value, seed: ir.Value, rest: tuple[ir.Value, ir.Value]) -> list[ir.Value]:
    """Four 32-bit words, each in an i64. The counter's lower half is an i64, of the upper each word is one."""
    mask = e.constant(0xFFFFFFFF, e.i64)
    half = e.constant(32, e.i64)

    def low(x: ir.Value) -> ir.Value:
        return e.binary("andi", x, mask)

    def high(x: ir.Value) -> ir.Value:
        return e.binary("shrui", x, half)

    c = [low(counter), high(counter), *rest]
    k0, k1 = low(seed), high(seed)
    m0, m1 = e.constant(_M0, e.i64), e.constant(_M1, e.i64)
    for i in range(_ROUNDS):
        if i:
            k0, k1 = low(e.add(k0, e.constant(_W0, e.i64))), low(e.add(k1, e.constant(_W1, e.i64)))
        p0, p1 = e.mul(m0, c[0]), e.mul(m1, c[2])
        c = [
            e.binary("xori", e.binary("xori", high(p1), c[1]), k0),
            low(p1),
            e.binary("xori", e.binary("xori", high(p0), c[3]), k1),
            low(p0),
        ]
    return c


def _word(e: Emitter, words: list[ir.Value], which: ir.Value) -> ir.Value:
    odd = e.cmp("ne", e.binary("andi", which, e.constant(1, e.i64)), e.constant(0, e.i64))
    upper = e.cmp("sge", which, e.constant(2, e.i64))
    return e.select(upper, e.select(odd, words[3], words[2]), e.select(odd, words[1], words[0]))


@own("mlirdev.multiply_high")
def multiply_high(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """multiply_high(x, factor): the upper half of the product of i64s taken as having no sign."""
    shape, factor = node.results[0].shape, e.integer(node.args[1])
    inputs = [(e.tensor(node.args[0]), list(range(len(shape))))]

    def body(x: ir.Value) -> ir.Value:
        return e.builder.create("arith.mului_extended", [e.i64, e.i64], [x, factor])[1]

    return [e.generic(shape, e.i64, inputs, body)]
