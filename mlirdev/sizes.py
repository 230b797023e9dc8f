"""Sizes that may be inputs: an int, a Sym, or arithmetic on Syms (DimExpr), in a form that is equal for equal sums and
products."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from mlirdev.errors import InternalError


@dataclass(frozen=True, slots=True)
class Sym:
    """A size that is an i64 input of the graph: number `index` of `Graph.syms`."""

    index: int

    def __str__(self) -> str:
        return f"s{self.index}"


@dataclass(frozen=True, slots=True)
class DimExpr:
    """Arithmetic on dims, of MLIR's index ops: add, sub, mul, floordiv, ceildiv, mod, max, min."""

    op: str
    args: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.args))})"


Dim: TypeAlias = "int | Sym | DimExpr"

_OPS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def evaluate(dim: Dim, syms: tuple[int, ...]) -> int:
    """The value of a dim, given the graph's syms."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Sym):
        return syms[dim.index]
    if dim.op not in _OPS:
        raise InternalError(f"unknown dim operation '{dim.op}'")
    left, right = (evaluate(arg, syms) for arg in dim.args)
    return _OPS[dim.op](left, right)


def mul(a: Dim, b: Dim) -> Dim:
    return product((a, b))


def add(a: Dim, b: Dim) -> Dim:
    terms = [*_opened("add", a), *_opened("add", b)]
    fixed = sum(t for t in terms if isinstance(t, int))
    return _joined("add", [t for t in terms if not isinstance(t, int)], fixed, neutral=0)


def sub(a: Dim, b: Dim) -> Dim:
    """What both have in common goes: the length of x[s : s + 1] is 1, whatever s is."""
    left, right = list(_opened("add", a)), list(_opened("add", b))
    for term in [t for t in right if not isinstance(t, int)]:
        if term not in left:
            return DimExpr("sub", (a, b))
        left.remove(term)
    return add(total(left), -sum(t for t in right if isinstance(t, int)))


def floordiv(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if b == 1 else DimExpr("floordiv", (a, b))


def product(dims: Iterable[Dim]) -> Dim:
    factors = [factor for dim in dims for factor in _opened("mul", dim)]
    fixed = 1
    for factor in factors:
        fixed *= factor if isinstance(factor, int) else 1
    return 0 if fixed == 0 else _joined("mul", [f for f in factors if not isinstance(f, int)], fixed, neutral=1)


def total(dims: Iterable[Dim]) -> Dim:
    result: Dim = 0
    for dim in dims:
        result = add(result, dim)
    return result


def factors(dim: Dim) -> tuple[list[Dim], int]:
    """The factors that vary, and the product of the others."""
    parts = list(_opened("mul", dim))
    fixed = [p for p in parts if isinstance(p, int)]
    return [p for p in parts if not isinstance(p, int)], fixed[0] if fixed else 1


def _opened(op: str, dim: Dim) -> Iterator[Dim]:
    if isinstance(dim, DimExpr) and dim.op == op:
        for arg in dim.args:
            yield from _opened(op, arg)
    else:
        yield dim


def _joined(op: str, varying: list[Dim], fixed: int, neutral: int) -> Dim:
    """What varies in one order, the number last."""
    if not varying:
        return fixed
    first, *rest = sorted(varying, key=str)
    for dim in rest:
        first = DimExpr(op, (first, dim))
    return first if fixed == neutral else DimExpr(op, (first, fixed))
