"""Element types, named as MLIR names them; free of torch and of MLIR."""

from __future__ import annotations

from enum import Enum


class DType(str, Enum):
    """An element type. Its value is the name used in graphs, plans, dumps and cache keys."""

    f64 = "f64"
    f32 = "f32"
    f16 = "f16"
    bf16 = "bf16"
    f8e5m2 = "f8E5M2"
    f8e4m3fn = "f8E4M3FN"
    i64 = "i64"
    i32 = "i32"
    i16 = "i16"
    i8 = "i8"
    u64 = "ui64"
    u32 = "ui32"
    u16 = "ui16"
    u8 = "ui8"
    i1 = "i1"
    c64 = "complex<f32>"
    c128 = "complex<f64>"

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return _ITEMSIZE[self]

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_complex(self) -> bool:
        return self in (DType.c64, DType.c128)

    @property
    def real(self) -> DType:
        """Of a complex type, that of its parts; else the type itself."""
        return _PARTS.get(self, self)

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers; False for bool."""
        return not (self.is_float or self.is_complex or self is DType.i1)

    @property
    def builtin(self) -> str:
        """The MLIR builtin element type used in linalg and memref (signless integers)."""
        return self.value.replace("ui", "i") if self.value.startswith("ui") else self.value

    def __str__(self) -> str:
        return self.value


_FLOATS = frozenset({DType.f64, DType.f32, DType.f16, DType.bf16, DType.f8e5m2, DType.f8e4m3fn})
_PARTS = {DType.c64: DType.f32, DType.c128: DType.f64}
_ITEMSIZE = {
    DType.f64: 8,
    DType.f32: 4,
    DType.f16: 2,
    DType.bf16: 2,
    DType.f8e5m2: 1,
    DType.f8e4m3fn: 1,
    DType.i64: 8,
    DType.i32: 4,
    DType.i16: 2,
    DType.i8: 1,
    DType.u64: 8,
    DType.u32: 4,
    DType.u16: 2,
    DType.u8: 1,
    DType.i1: 1,
    DType.c64: 8,
    DType.c128: 16,
}
