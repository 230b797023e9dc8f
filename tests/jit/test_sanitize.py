"""Literals of MLIR's LLVM, rewritten: bit for bit on random patterns, in the older LLVM's own reading."""

from __future__ import annotations

import re
from fractions import Fraction

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlirdev.jit.sanitize import round_to_bits, sanitize

WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
LAYOUT = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}


def read_back(literals: list[tuple[str, str]]) -> list[int]:
    """The bits that LLVM reads for each sanitised (type, literal)."""
    lines = [
        f"@g{i} = global i{WIDTHS[kind]} bitcast ({kind} {literal} to i{WIDTHS[kind]})"
        for i, (kind, literal) in enumerate(literals)
    ]
    module = str(llvm.parse_assembly(sanitize("\n".join(lines)), llvm.create_context()))
    found = re.findall(r"^@g\d+ = global i(\d+) (-?\d+)", module, re.MULTILINE)
    return [int(value) % 2 ** int(width) for width, value in found]


def value_of(bits: int, kind: str) -> Fraction:
    """The exact value of a finite bit pattern."""
    exponent_bits, mantissa_bits = LAYOUT[kind]
    mantissa, exponent = bits % 2**mantissa_bits, (bits >> mantissa_bits) % 2**exponent_bits
    if exponent:
        mantissa += 2**mantissa_bits
    scale = max(exponent, 1) - (2 ** (exponent_bits - 1) - 1) - mantissa_bits
    return (-1) ** (bits >> (exponent_bits + mantissa_bits)) * mantissa * Fraction(2) ** scale


def literals_of(bits: int, kind: str) -> list[str]:
    """The ways in which a bit pattern may be printed."""
    exponent_bits, mantissa_bits = LAYOUT[kind]
    sign = "-" if bits >> (exponent_bits + mantissa_bits) else "+"
    mantissa, exponent = bits % 2**mantissa_bits, (bits >> mantissa_bits) % 2**exponent_bits
    forms = [f"f0x{bits:0{WIDTHS[kind] // 4}X}"]
    if exponent < 2**exponent_bits - 1:
        digits = {"half": 5, "bfloat": 4, "float": 9, "double": 17}[kind]
        value = abs(value_of(bits, kind))
        return [*forms, ("-" if sign == "-" else "") + decimal(value, digits)]
    if mantissa == 0:
        return [*forms, f"{sign}inf"]
    quiet, payload = mantissa >> (mantissa_bits - 1), mantissa % 2 ** (mantissa_bits - 1)
    if not quiet:
        return [*forms, f"{sign}snan(0x{payload:x})"]
    return [*forms, f"{sign}nan(0x{payload:x})"] if payload else [*forms, f"{sign}qnan", f"{sign}nan(0x0)"]


def decimal(value: Fraction, digits: int) -> str:
    """The value to so many digits, as 1.2345e+06."""
    if value == 0:
        return "0.000000e+00"
    exponent = 0
    while value >= 10:
        value, exponent = value / 10, exponent + 1
    while value < 1:
        value, exponent = value * 10, exponent - 1
    scaled = round(value * 10 ** (digits - 1))
    text = str(scaled)
    if len(text) > digits:  # rounded up to 10
        text, exponent = text[:-1], exponent + 1
    return f"{text[0]}.{text[1:]}e{exponent:+03d}"


@pytest.mark.parametrize("kind", WIDTHS)
def test_random_bit_patterns_survive(kind: str) -> None:
    rng = np.random.default_rng(0)
    patterns = [int(p) % 2 ** WIDTHS[kind] for p in rng.integers(0, 2**63, 1500)]
    if kind in ("half", "bfloat"):
        patterns = list(range(0, 2**16, 7))
    exponent_bits, mantissa_bits = LAYOUT[kind]
    infinity = (2**exponent_bits - 1) << mantissa_bits
    patterns += [
        0,
        1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + (1 << (mantissa_bits - 1)),
        1 << (WIDTHS[kind] - 1),
    ]
    cases = [(bits, literal) for bits in patterns for literal in literals_of(bits, kind)]
    read = read_back([(kind, literal) for _, literal in cases])
    wrong = [(hex(bits), literal, hex(got)) for (bits, literal), got in zip(cases, read, strict=True) if bits != got]
    assert wrong == []


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["float", "double"]))
def test_rounding_is_to_nearest(value: float, kind: str) -> None:
    with np.errstate(over="ignore"):
        expected = np.float64(value) if kind == "double" else np.float32(value)
    assert round_to_bits(repr(value), kind) == int(expected.view(f"u{expected.itemsize}"))


@pytest.mark.parametrize(
    ("kind", "text", "bits"),
    [
        ("half", "65520.0", 0x7C00),  # halfway past the largest: infinity
        ("half", "65519.9", 0x7BFF),
        ("half", "2.98e-8", 0x0000),  # just below half of the smallest
        ("bfloat", "1.00390625", 0x3F80),  # a tie goes to even
        ("bfloat", "1.01171875", 0x3F82),
        ("float", "-0.0", 0x80000000),
    ],
)
def test_rounding_at_the_edges(kind: str, text: str, bits: int) -> None:
    assert round_to_bits(text, kind) == bits


@pytest.mark.parametrize(
    "line",
    [
        "  %1 = add i32 %0, 15",
        '  @s = constant [5 x i8] c"1.5 \\00"',
        '  call void @"inf.f32"(float %nan.1)  ; float 1.1',
        '!0 = !DIFile(filename: "a.1.1.c", directory: "/")',
        "  %inf = getelementptr { float, double }, ptr %x.5, i32 0",
        "  br label %float1.0",
        '  attributes #0 = { "prefer-vector-width"="512" "x"="1.5" }',
        "",
    ],
)
def test_what_is_no_literal_stays(line: str) -> None:
    assert sanitize(line) == line


def test_each_literal_takes_the_type_before_it() -> None:
    line = "  %3 = call float @f(double 1.1, float 1.1, half +inf, float f0x3F8CCCCD)"
    assert sanitize(line) == (
        "  %3 = call float @f(double 0x3FF199999999999A, float 0x3FF19999A0000000, half 0xH7C00,"
        " float 0x3FF19999A0000000)"
    )


def test_operands_share_the_type() -> None:
    assert sanitize("  %3 = select i1 %2, float 1.1, float -qnan") == (
        "  %3 = select i1 %2, float 0x3FF19999A0000000, float 0xFFF8000000000000"
    )
    assert sanitize("%1 = fadd fast float 0.1, %0") == "%1 = fadd fast float 0x3FB99999A0000000, %0"
    assert sanitize("%1 = fadd <4 x float> %0, splat (float 0.1)") == (
        "%1 = fadd <4 x float> %0, splat (float 0x3FB99999A0000000)"
    )
