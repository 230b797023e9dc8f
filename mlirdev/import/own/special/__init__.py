"""Special functions, one file per family: the CPU's formulas, mostly those of Cephes, with its coefficients as data."""

from __future__ import annotations

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_family.name}", __package__)
