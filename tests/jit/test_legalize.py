"""Bools as bytes, truncations by float: the same values, and loops that vectorise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from native import aligned, apply, build, call, host, use_target

from mlirdev.dtypes import DType
from mlirdev.jit import emit_object, resolve_target
from mlirdev.jit.legalize import legalize
from mlirdev.plan import BufferParam, Signature
from mlirdev.target import Llvm, Target


@pytest.fixture(autouse=True)
def _quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def bfloat_bits(x: np.ndarray) -> np.ndarray:
    """Rounded to nearest even, exactly."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


def inputs() -> np.ndarray:
    rng = np.random.default_rng(0)
    anything = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    ties = (rng.integers(0, 2**16, 5_000, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    special = np.array([0.0, math.inf, math.nan, 1e-45, 1e-40, 3.4028235e38, 65520.0, 65519.9, 2.98e-8], np.float32)
    return np.concatenate([anything, ties, special, -special])


def truncated(x: np.ndarray, wide: str, result: str) -> np.ndarray:
    """x through a loop with one fptrunc, as raw 16-bit patterns."""
    dtype = {"bfloat": DType.bf16, "half": DType.f16}[result]
    signature = Signature(
        (BufferParam(x.shape, DType.f32 if wide == "float" else DType.f64),), (BufferParam(x.shape, dtype),)
    )
    text = f"""
define void @kernel(ptr %e, ptr %error, i64 %e1, i64 %e2, i64 %e3, i64 %thread, i64 %threads, ptr %w,
    ptr %workspace, i64 %w1, i64 %w2, i64 %w3,
    ptr %x0, ptr %x, i64 %x1, i64 %x2, i64 %x3, ptr %y0, ptr %y, i64 %y1, i64 %y2, i64 %y3) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %px = getelementptr inbounds {wide}, ptr %x, i64 %i
  %py = getelementptr inbounds {result}, ptr %y, i64 %i
  %v = load {wide}, ptr %px, align 4
  %r = fptrunc {wide} %v to {result}
  store {result} %r, ptr %py, align 2
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, {len(x)}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
""".replace(",\n    ", ", ")
    y = aligned(np.zeros(len(x), np.uint16))
    call(build(text, signature), [aligned(x), y], aligned(np.zeros(4, np.int64)))
    return y


@pytest.mark.parametrize("cpu", ["native", "x86-64"])
@pytest.mark.parametrize("wide", ["float", "double"])
def test_truncation_to_bfloat(wide: str, cpu: str) -> None:
    if cpu != "native" and "x86_64" not in host().llvm.triple:
        pytest.skip("another architecture")
    x = inputs().astype(np.float32 if wide == "float" else np.float64)
    with use_target(resolve_target(Target("some", llvm=Llvm(cpu=cpu)))):
        assert np.array_equal(truncated(x, wide, "bfloat"), bfloat_bits(x))


def test_truncation_of_double_to_half_goes_by_float() -> None:
    x = np.concatenate([inputs().astype(np.float64), 1 + 2.0**-11 + np.array([2.0**-40])])
    expected = x.astype(np.float32).astype(np.float16)
    got = truncated(x, "double", "half").view(np.float16)
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("cpu", ["native", "x86-64"])
def test_arithmetic_on_bfloat_itself(cpu: str) -> None:
    """What no rewriting reaches: codegen's own truncation, from the support functions where need be."""
    if cpu != "native" and "x86_64" not in host().llvm.triple:
        pytest.skip("another architecture")
    a = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    bits = bfloat_bits(a)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    with use_target(resolve_target(Target("some", llvm=Llvm(cpu=cpu)))):
        got = apply("llvm.sqrt.bf16", ["bfloat"], bits)
    expected = bfloat_bits(np.sqrt(wide))
    assert np.array_equal(got[wide >= 0], expected[wide >= 0])


BOOLS = (
    """
define void @kernel(ptr %e, ptr %error, i64 %e1, i64 %e2, i64 %e3, i64 %thread, i64 %threads, ptr %w, \
ptr %workspace, i64 %w1, i64 %w2, i64 %w3, \
ptr %x0, ptr %x, i64 %x1, i64 %x2, i64 %x3, ptr %y0, ptr %y, i64 %y1, i64 %y2, i64 %y3) {
  br label %1
1:
  %2 = phi i64 [ 0, %0 ], [ %8, %1 ]
  %3 = getelementptr inbounds nuw i1, ptr %x, i64 %2
  %4 = load i1, ptr %3, align 1
  %5 = xor i1 %4, true
  %6 = getelementptr inbounds nuw i1, ptr %y, i64 %2
  store i1 %5, ptr %6, align 1
  %8 = add nuw nsw i64 %2, 1
  %9 = icmp slt i64 %8, 1000
  br i1 %9, label %1, label %10
10:
  store i1 true, ptr %y, align 1
  ret void
}
""".replace("%8", "%7")
    .replace("%9", "%8")
    .replace("%10", "%9")
    .replace("10:", "9:")
)

BOOL_SIGNATURE = Signature((BufferParam((1000,), DType.i1),), (BufferParam((1000,), DType.i1),))


def test_bools_are_bytes_and_any_but_zero_is_true() -> None:
    x = aligned(np.random.default_rng(0).integers(0, 4, 1000).astype(np.uint8))
    y = aligned(np.full(1000, 9, np.uint8))
    call(build(BOOLS, BOOL_SIGNATURE), [x, y], aligned(np.zeros(4, np.int64)))
    expected = (x == 0).astype(np.uint8)
    expected[0] = 1
    assert np.array_equal(y, expected)


def test_loops_over_bools_vectorise() -> None:
    seen: dict[str, str] = {}
    emit_object(BOOLS, BOOL_SIGNATURE, "entry", host(), lambda s, p, text, t: seen.__setitem__(p, text()))
    assert "x i8>" in seen["optimize"]


def test_locations_are_kept() -> None:
    text = (
        "  %1 = load i1, ptr %0, align 1, !dbg !5\n"
        "  store i1 %1, ptr %0, align 1, !dbg !6, !alias.scope !7\n"
        "  %2 = fptrunc double %3 to bfloat, !dbg !8"
    )
    assert legalize(text).splitlines()[:6] == [
        "  %byte.1 = load i8, ptr %0, align 1, !dbg !5",
        "  %1 = icmp ne i8 %byte.1, 0, !dbg !5",
        "  %byte.stored.84 = zext i1 %1 to i8, !dbg !6",
        "  store i8 %byte.stored.84, ptr %0, align 1, !dbg !6, !alias.scope !7",
        "  %float.2 = fptrunc double %3 to float, !dbg !8",
        "  %2 = call bfloat @mlirdev.to_bfloat.f32(float %float.2), !dbg !8",
    ]


@pytest.mark.parametrize(
    "line", ["  %1 = load <16 x i1>, ptr %0", "  %1 = load i16, ptr %0", "  %1 = fptrunc double %0 to float", ""]
)
def test_the_rest_stays(line: str) -> None:
    assert legalize(line) == line
