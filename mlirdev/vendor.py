"""A vendor: a library of kernels by somebody else, which a target may call in place of generated code.

A vendor file is YAML in `mlirdev/vendors/`, or the user's own:

    library: /opt/fast/libfast.so      the shared library; with `package: torch`, a path inside that Python package
    kernels:
    - symbol: sgemm_                   the function
      signature: gemm-fortran          how it is called: one of SIGNATURES
      operands: f32                    element types of A and B, and of C
      result: f32
      least_work: 32768                multiplications from which on a call costs less than generated code

What is called is named `vendor!NAME!SYMBOL` in a kernel's code, and found when that is linked.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from mlirdev.described import is_file, read_described, structured

BUILTIN = Path(__file__).parent / "vendors"
# What a function computes and how it takes its arguments.
SIGNATURES = {
    "gemm-fortran": "C = A·B + beta·C as BLAS's ?gemm_: column-major, everything by address, 32-bit sizes",
    "gemm-cblas": "the same as CBLAS's: row-major, sizes and factors by value",
}
_SEPARATOR = "!"
_PREFIX = "vendor" + _SEPARATOR


_Float = Literal["f16", "bf16", "f32", "f64"]


class VendorKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function of the library: see the module's docstring."""

    symbol: str
    signature: Literal["gemm-fortran", "gemm-cblas"]
    operands: _Float
    result: _Float
    least_work: int = 0


class Vendor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library and what it has. `name` is a built-in's, or the path of the file."""

    library: str
    kernels: tuple[VendorKernel, ...]
    package: str = ""
    name: str = ""

    def reference(self, kernel: VendorKernel) -> str:
        """The symbol by which code calls a kernel."""
        return f"{_PREFIX}{self.name}{_SEPARATOR}{kernel.symbol}"


def referred(symbol: str) -> tuple[str, str] | None:
    """The vendor's name and the function that a symbol of `Vendor.reference` stands for; None for other symbols."""
    if not symbol.startswith(_PREFIX):
        return None
    name, _, function = symbol.removeprefix(_PREFIX).rpartition(_SEPARATOR)
    return name, function


@lru_cache
def load_vendor(name: str) -> Vendor:
    """The vendor of this built-in name or YAML file. Raises OptionError for an unknown name, key or bad file."""
    name = str(Path(name).resolve()) if is_file(name) else name
    vendor = structured(read_described("vendor", name, BUILTIN), Vendor)
    return msgspec.structs.replace(vendor, name=name)
