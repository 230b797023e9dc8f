"""Arithmetic on sizes has one form for equal sums and products."""

from __future__ import annotations

import pytest

from mlirdev.sizes import DimExpr, Sym, add, evaluate, factors, floordiv, mul, product, sub, total

A, B = Sym(0), Sym(1)


def test_order_does_not_matter() -> None:
    assert mul(4, A) == mul(A, 4) == mul(2, mul(A, 2))
    assert add(1, add(A, 2)) == add(A, 3)
    assert product([A, 2, B]) == product([B, A, 2])
    assert total([A, B, 1]) == add(B, add(1, A))


def test_what_is_neutral_goes() -> None:
    assert mul(A, 1) == add(A, 0) == floordiv(A, 1) == A
    assert mul(A, 0) == 0
    assert sub(add(A, 1), 1) == A


def test_common_terms_cancel() -> None:
    assert sub(add(A, 1), A) == 1
    assert sub(A, add(A, -1)) == 1
    assert sub(add(A, B), B) == A
    assert sub(A, B) == DimExpr("sub", (A, B))


def test_factors_are_told_from_the_number() -> None:
    assert factors(mul(mul(A, 6), B)) == ([A, B], 6)
    assert factors(mul(add(A, 1), 4)) == ([add(A, 1)], 4)
    assert factors(7) == ([], 7)


@pytest.mark.parametrize("dim", [mul(add(A, 1), 64), sub(B, A), floordiv(mul(A, B), 2), add(A, -3)])
def test_arithmetic_is_the_ints(dim: DimExpr) -> None:
    values = {"mul(add(s0, 1), 64)": 448, "sub(s1, s0)": 3, "floordiv(mul(s0, s1), 2)": 27, "add(s0, -3)": 3}
    assert evaluate(dim, (6, 9)) == values[str(dim)]
