"""Functions of vendors' libraries, which kernels call by name (see mlirdev/vendor.py)."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mlirdev.errors import OptionError
from mlirdev.vendor import Vendor, load_vendor, referred


def check_vendor(vendor: Vendor) -> None:
    """Raise OptionError where the library, or a function that it should have, isn't there."""
    for kernel in vendor.kernels:
        _find(vendor, kernel.symbol)


def vendor_address(symbol: str) -> int:
    """Where the function is that a symbol of a kernel stands for; 0 for a symbol that isn't a vendor's."""
    reference = referred(symbol)
    return 0 if reference is None else _find(load_vendor(reference[0]), reference[1])


@cache
def _find(vendor: Vendor, symbol: str) -> int:
    function = getattr(_library(vendor), symbol, None)
    if function is None:
        raise OptionError(f"vendor '{vendor.name}': {_path(vendor)} has no function '{symbol}'")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _library(vendor: Vendor) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_path(vendor))
    except OSError as error:
        raise OptionError(f"vendor '{vendor.name}': its library can't be loaded: {error}") from None


def _path(vendor: Vendor) -> str:
    """Where the library is. A path without a package is left to the system's loader."""
    if not vendor.package:
        return vendor.library
    spec = find_spec(vendor.package)
    if spec is None or spec.origin is None:
        raise OptionError(f"vendor '{vendor.name}': there is no Python package '{vendor.package}'")
    return str(Path(spec.origin).parent / vendor.library)
