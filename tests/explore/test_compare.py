"""Arrays are compared within what rounding explains, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from mlirdev.dtypes import DType
from mlirdev.explore.compare import difference, scale_of

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("count", [1, 7, 100, 10_000])
def test_another_order_of_a_sum_is_no_difference(count: int) -> None:
    x = RANDOM.standard_normal((8, count)).astype(np.float32)
    sums = x.sum(1, dtype=np.float32)
    in_order = np.array([np.cumsum(row, dtype=np.float32)[-1] for row in x])
    scale = scale_of(float(np.abs(x).max()), x.size, len(sums))
    assert difference(in_order, sums, DType.f32, x.sum(1, dtype=np.float64), scale) is None
    assert difference(sums + x[:, 0], sums, DType.f32, x.sum(1, dtype=np.float64), scale)


def test_the_first_wrong_element_is_told() -> None:
    wanted = np.ones((3, 4), np.float32)
    got = wanted.copy()
    got[1, 2] = got[2, 0] = 1.001
    found = difference(got, wanted, DType.f32, wanted.astype(np.float64))
    assert found is not None
    assert (found.index, found.count, found.size) == ((1, 2), 2, 12)
    assert str(found).startswith("at [1, 2]: got 1.001, wanted 1.0, give or take ")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_nan_and_infinity_stand_for_themselves(dtype: type) -> None:
    kind = {np.float32: DType.f32, np.float64: DType.f64, np.complex64: DType.c64}[dtype]
    special = np.array([np.nan, np.inf, -np.inf, 1], dtype)
    assert difference(special, special.copy(), kind, special.copy()) is None
    for position in range(3):
        got = special.copy()
        got[position] = 0
        found = difference(got, special, kind, special.copy())
        assert found is not None
        assert found.index == (position,)


def test_rounding_at_a_jump_is_right() -> None:
    """floor(0.9999999) may be 1 in one precision and 0 in the other."""
    narrow, wide = np.ones(500, np.float32), np.ones(500)
    wide[3] = 0
    got = narrow.copy()
    for value in (1, 0):
        got[3] = value
        assert difference(got, narrow, DType.f32, wide) is None
    got[4] = 0
    assert difference(got, narrow, DType.f32, wide)


def test_whole_numbers_are_equal() -> None:
    wanted = np.arange(5000)
    got = wanted.copy()
    got[17] = 0
    assert difference(got, wanted, DType.i64, from_floats=True) is None
    assert difference(got, wanted, DType.i64, from_floats=False)
    assert difference(got[:20], wanted[:20], DType.i64, from_floats=True)


def test_empty_arrays_are_equal() -> None:
    for dtype in (np.float32, np.int64):
        kind = DType.f32 if dtype is np.float32 else DType.i64
        empty = np.empty((0, 3), dtype)
        assert difference(empty, empty.copy(), kind, empty.astype(np.float64)) is None
