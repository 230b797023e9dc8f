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

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from mlirdev.described import check_keys, check_one_of, is_file, read_described
from mlirdev.dtypes import DType
from mlirdev.errors import OptionError

BUILTIN = Path(__file__).parent / "vendors"
# What a function computes and how it takes its arguments.
SIGNATURES = {
    "gemm-fortran": "C = A·B + beta·C as BLAS's ?gemm_: column-major, everything by address, 32-bit sizes",
    "gemm-cblas": "the same as CBLAS's: row-major, sizes and factors by value",
}
_SEPARATOR = "!"
_PREFIX = "vendor" + _SEPARATOR


@dataclass(frozen=True, slots=True)
class VendorKernel:
    """A function of the library: see the module's docstring."""

    symbol: str
    signature: str
    operands: str
    result: str
    least_work: int = 0


@dataclass(frozen=True, slots=True)
class Vendor:
    """A library and what it has. `name` is a built-in's, or the path of the file."""

    name: str
    library: str
    package: str = ""
    kernels: tuple[VendorKernel, ...] = ()

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
    path, data = read_described("vendor", name, BUILTIN, ("library", "package", "kernels"), ("library", "kernels"))
    kernels = tuple(_kernel(path, entry) for entry in data["kernels"])
    return Vendor(name, str(data["library"]), str(data.get("package", "")), kernels)


def _kernel(path: Path, entry: Any) -> VendorKernel:
    if not isinstance(entry, dict):
        raise OptionError(f"{path}: a kernel is a mapping of keys to values, not {entry!r}")
    check_keys(path, entry, [f.name for f in fields(VendorKernel)], ("symbol", "signature", "operands", "result"))
    check_one_of(path, "signature", entry["signature"], SIGNATURES)
    types = [dtype.value for dtype in DType if dtype.is_float]
    for key in ("operands", "result"):
        check_one_of(path, key, entry[key], types)
    return VendorKernel(**entry)
