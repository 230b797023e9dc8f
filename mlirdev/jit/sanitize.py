"""LLVM IR text of MLIR's LLVM made acceptable to llvmlite's older one.

MLIR prints floating-point constants in forms that the older parser rejects:

    1.100000e+00 of a float (not exact)    → 0x3FF19999A0000000
    +inf, -nan, +qnan, snan(0x1)           → 0x7FF0000000000000 …
    f0x3F8CCCCD                            → 0x3FF19999A0000000

Each becomes the old exact hexadecimal form of its type, bit for bit. A literal's type is the last
floating-point type named before it on the line, which is how LLVM prints constants. All else passes unchanged.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction

_TOKEN = re.compile(
    r"""
    (?P<skip> c?"[^"]*" | ;[^\n]* | [%@$][-A-Za-z$._0-9]+ | [%@]"[^"]*" | [!\#][-A-Za-z$._0-9\\]+ )
  | (?P<type> (?<![A-Za-z0-9_.]) (?:half|bfloat|float|double|x86_fp80|fp128) (?![A-Za-z0-9_.]) )
  | (?P<decimal> (?<![A-Za-z0-9_.]) [-+]?\d+\.\d*(?:[eE][-+]?\d+)? (?![A-Za-z0-9_]) )
  | (?P<special> [-+](?:inf|qnan|nan\(0x[0-9a-fA-F]+\)|snan\(0x[0-9a-fA-F]+\)|nan) (?![A-Za-z0-9_]) )
  | (?P<bits> (?<![A-Za-z0-9_.]) f0x[0-9A-Fa-f]+ )
    """,
    re.VERBOSE,
)
_SUSPECT = re.compile(r"\.\d|inf|nan|f0x|\d\.")

# Exponent and mantissa bits.
_LAYOUT = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}


def sanitize(text: str) -> str:
    """The text with every floating-point literal in the old exact form."""
    return "\n".join(_line(line) if _SUSPECT.search(line) else line for line in text.split("\n"))


def _line(line: str) -> str:
    kind = ""
    pieces: list[str] = []
    position = 0
    for match in _TOKEN.finditer(line):
        if match.lastgroup == "type":
            kind = match.group()
        elif match.lastgroup != "skip" and kind:
            pieces += [line[position : match.start()], _literal(match.group(), str(match.lastgroup), kind)]
            position = match.end()
    return "".join(pieces) + line[position:]


def _literal(text: str, form: str, kind: str) -> str:
    if kind not in _LAYOUT:
        return _wide_literal(text, form, kind)
    if form == "decimal":
        return _old_form(round_to_bits(text, kind), kind)
    if form == "special":
        return _old_form(_special_bits(text, kind), kind)
    return _old_form(int(text[3:], 16), kind)


def _wide_literal(text: str, form: str, kind: str) -> str:
    """x86_fp80 and fp128, which only host code with long doubles has."""
    if form != "bits":
        return text
    if kind == "x86_fp80":
        return "0xK" + text[3:].rjust(20, "0")
    digits = text[3:].rjust(32, "0")
    return "0xL" + digits[16:] + digits[:16]


def round_to_bits(text: str, kind: str) -> int:
    """The bit pattern of the `kind` number nearest to a decimal, ties to even; past the largest it is infinity."""
    exponent_bits, mantissa_bits = _LAYOUT[kind]
    sign = int(text.startswith("-")) << (exponent_bits + mantissa_bits)
    value = abs(Fraction(text))
    if value == 0:
        return sign
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    mantissa = round(value / Fraction(2) ** (exponent - mantissa_bits))  # a Fraction rounds half to even
    # A subnormal's mantissa stands alone; a carry into the exponent comes out right by itself.
    bits = ((exponent + bias - 1) << mantissa_bits) + mantissa if mantissa >> mantissa_bits else mantissa
    return sign | min(bits, _infinity(kind))


def _infinity(kind: str) -> int:
    exponent_bits, mantissa_bits = _LAYOUT[kind]
    return ((1 << exponent_bits) - 1) << mantissa_bits


def _special_bits(text: str, kind: str) -> int:
    exponent_bits, mantissa_bits = _LAYOUT[kind]
    sign = int(text[0] == "-") << (exponent_bits + mantissa_bits)
    if text[1:] == "inf":
        return sign | _infinity(kind)
    payload = re.search(r"\(0x([0-9a-fA-F]+)\)", text)
    mantissa = int(payload.group(1), 16) if payload else 0
    quiet = 0 if text[1:].startswith("snan") else 1 << (mantissa_bits - 1)
    return sign | _infinity(kind) | quiet | mantissa


def _old_form(bits: int, kind: str) -> str:
    if kind == "half":
        return f"0xH{bits:04X}"
    if kind == "bfloat":
        return f"0xR{bits:04X}"
    return f"0x{bits if kind == 'double' else _widened(bits):016X}"


def _widened(bits: int) -> int:
    """A float's bits as those of the double of the same value, which is how the old form writes a float."""
    if (bits >> 23) & 0xFF != 0xFF:
        return int(struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0]))[0])
    return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29  # struct would quieten a NaN
