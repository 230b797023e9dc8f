"""The maths library's accuracy, in units in the last place, against f64 and long double.

f32 functions run on every float at a stride, through the whole range, and on special values.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from native import apply, host, use_target

from mlirdev.jit import resolve_target
from mlirdev.jit.maths.library import FORMULAS, implementation, use_library
from mlirdev.target import Llvm, Target

Reference = Callable[[np.ndarray], np.ndarray]

STRIDE = 4093
SPECIAL = [0.0, 1.0, 0.5, 2.0, math.inf, 1e-45, 1e-40, 2.0**-126, 3.4028235e38, 1e30, 88.72284, 89.41599, 103.97]


def each(function: Callable[[float], float]) -> Reference:
    return lambda x: np.array([function(v) for v in x.tolist()])


# Name: (reference in a wider type, units allowed in f32).
FLOAT: dict[str, tuple[Reference, float]] = {
    "exp": (np.exp, 1.1),
    "exp2": (np.exp2, 1.3),
    "expm1": (np.expm1, 1.6),
    "log": (np.log, 1.1),
    "log2": (np.log2, 2.0),
    "log10": (np.log10, 1.7),
    "log1p": (np.log1p, 1.7),
    "sin": (np.sin, 1.7),
    "cos": (np.cos, 1.7),
    "tan": (np.tan, 3.7),
    "sinh": (np.sinh, 2.2),
    "cosh": (np.cosh, 1.6),
    "tanh": (np.tanh, 2.5),
    "asin": (np.arcsin, 2.5),
    "acos": (np.arccos, 1.5),
    "atan": (np.arctan, 1.8),
    "asinh": (np.arcsinh, 2.2),
    "acosh": (np.arccosh, 2.2),
    "atanh": (np.arctanh, 2.3),
    "erf": (each(math.erf), 1.2),
    "erfc": (each(math.erfc), 2.7),
}
DOUBLE = {
    "exp": 1.2,
    "exp2": 1.2,
    "expm1": 2.0,
    "log": 1.2,
    "log2": 1.7,
    "log10": 2.5,
    "log1p": 2.0,
    "sinh": 2.5,
    "cosh": 1.7,
    "tanh": 2.7,
    "asinh": 2.2,
    "acosh": 2.7,
    "atanh": 2.5,
}


@pytest.fixture(autouse=True)
def _quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def units(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """How far `got` is from the reference, in units in the last place of got's type; infinite where
    one is NaN, infinite or negative zero and the other isn't."""
    info = np.finfo(got.dtype)
    magnitude = np.maximum(np.abs(reference), info.smallest_normal)
    unit = np.exp2(np.floor(np.log2(magnitude)) - info.nmant)
    rounded = reference.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    distance = np.where(finite, np.abs(got.astype(reference.dtype) - reference) / unit, math.inf)
    sign_differs = (np.signbit(got) != np.signbit(rounded)) & ~np.isnan(rounded)
    return np.where(sign_differs, math.inf, np.where(same & ~finite, 0.0, distance)).astype(np.float64)


def floats(stride: int) -> np.ndarray:
    """Every stride-th float, in bit order, and the special ones."""
    dense = np.arange(0, 2**32, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = np.array([*SPECIAL, math.nan], np.float32)
    return np.concatenate([dense, special, -special])


def assert_within(limit: float, x: np.ndarray, got: np.ndarray, reference: np.ndarray) -> None:
    distance = units(got, reference)
    worst = int(distance.argmax())
    assert distance[worst] <= limit, (
        f"{distance[worst]} units at {x[worst]!r}: {got[worst]!r}, not {reference[worst]!r}"
    )


def check_float(name: str) -> None:
    reference, limit = FLOAT[name]
    x = floats(STRIDE * 16 if name.startswith("erf") else STRIDE)
    assert_within(limit, x, apply(name + "f", ["float"], x), reference(x.astype(np.float64)))


@pytest.mark.parametrize("name", FLOAT)
def test_float(name: str) -> None:
    check_float(name)


@pytest.mark.parametrize("name", FLOAT)
def test_float_without_fused_multiply_add(name: str) -> None:
    """Formulas are right where fmuladd rounds twice, too."""
    if "x86_64" not in host().llvm.triple:
        pytest.skip("every processor of this architecture fuses")
    with use_target(resolve_target(Target("plain", llvm=Llvm(cpu="x86-64", features="")))):
        check_float(name)


def doubles() -> np.ndarray:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(50_000)
    special = np.array([*SPECIAL, 5e-324, 1e-310, 1.79e308, 709.78, 710.4758, math.nan])
    anything = rng.integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64)
    return np.concatenate([anything, normal, normal * 300, normal * 1e-9, 1 + normal * 1e-3, special, -special])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="needs a type wider than f64 as reference")
@pytest.mark.parametrize("name", DOUBLE)
def test_double(name: str) -> None:
    x = doubles()
    assert_within(DOUBLE[name], x, apply(name, ["double"], x), FLOAT[name][0](x.astype(np.longdouble)))


def test_large_arguments_of_sine_are_reduced_exactly() -> None:
    """Floats nearest to a multiple of π/2, where a reduction loses most."""
    multiples = np.float64(np.pi / 2) * np.arange(1, 200_000, dtype=np.float64)
    x = np.concatenate([multiples.astype(np.float32), np.array([16367173.0 * 2.0**72, 1e22, 3e38], np.float32)])
    for name in ("sin", "cos", "tan"):
        reference, limit = FLOAT[name]
        assert_within(limit + 0.3, x, apply(name + "f", ["float"], x), reference(x.astype(np.float64)))


def pairs() -> tuple[np.ndarray, np.ndarray]:
    whole = [3.0, 16777216.0, 16777215.0, 8388609.0, 0.99999994, 1.0000001]
    special = np.array([*SPECIAL, *whole, math.nan], np.float32)
    special = np.concatenate([special, -special])
    a, b = (m.ravel() for m in np.meshgrid(special, special))
    rng = np.random.default_rng(0)
    anything = rng.integers(0, 2**32, (2, 100_000), dtype=np.uint32).view(np.float32)
    normal = rng.standard_normal((2, 200_000))
    a = np.concatenate([a, anything[0], np.exp(normal[0] * 8), -np.abs(normal[0])]).astype(np.float32)
    b = np.concatenate([b, anything[1], normal[1] * 6, np.round(normal[1] * 10)]).astype(np.float32)
    return a, b


def test_pow() -> None:
    a, b = pairs()
    assert_within(0.51, a, apply("powf", ["float", "float"], a, b), np.power(a.astype(np.longdouble), b))


def test_pow_of_whole_numbers_is_exact() -> None:
    a, b = (m.ravel().astype(np.float32) for m in np.meshgrid(np.arange(-12, 13), np.arange(0, 7)))
    assert np.array_equal(apply("llvm.pow.f32", ["float", "float"], a, b), a.astype(np.float64) ** b)


def test_powi() -> None:
    a, _ = pairs()
    n = np.random.default_rng(0).integers(-20, 20, len(a)).astype(np.int32)
    got = apply("llvm.powi.f32.i32", ["float", "i32"], a, n)
    assert_within(0.51, a, got, np.power(a.astype(np.longdouble), n))


def test_atan2() -> None:
    y, x = pairs()
    got = apply("atan2f", ["float", "float"], y, x)
    assert_within(2.2, y, got, np.arctan2(y.astype(np.float64), x.astype(np.float64)))


@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin", "erf"])
def test_halves_are_computed_in_f32(name: str) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    got = apply(f"llvm.{name}.f16", ["half"], x)
    assert_within(0.51, x, got, FLOAT[name][0](x.astype(np.float64)))


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf"])
def test_vectors_give_what_scalars_give(name: str, lanes: int) -> None:
    x = floats(2**32 // 3000)
    x = x[: len(x) // 32 * 32]
    of_scalars = apply(f"llvm.{name}.f32", ["float"], x)
    assert np.array_equal(apply(f"llvm.{name}.v{lanes}f32", ["float"], x, lanes=lanes), of_scalars, equal_nan=True)


def test_unknown_functions_stay_scalar_calls() -> None:
    x = np.linspace(0.5, 20, 100, dtype=np.float32)
    assert_within(5.0, x, apply("tgammaf", ["float"], x), each(math.gamma)(x))
    assert implementation("tgammaf") is None
    assert implementation("f") is None
    assert implementation("llvm.fabs.f32") is None
    assert implementation("sin") is None


def test_every_formula_is_tested() -> None:
    assert set(FORMULAS["float"]) == set(FLOAT) | {"pow", "powi", "atan2"}
    assert set(FORMULAS["double"]) == set(DOUBLE)


def test_text_without_calls_is_untouched() -> None:
    text = "declare float @other(float)\ndefine void @kernel() {\n  ret void\n}\n"
    assert use_library(text, host()) is text


def test_an_intrinsic_is_declared_once() -> None:
    text = (
        "declare float @llvm.exp.f32(float)\ndeclare float @llvm.fmuladd.f32(float, float, float)\n"
        "define float @kernel(float %x) {\n  %y = call float @llvm.exp.f32(float %x)\n  ret float %y\n}\n"
    )
    assert use_library(text, host()).count("declare float @llvm.fmuladd.f32(") == 1
