"""Operators that we emit as linalg ourselves, one file per family; OWN has them all by name.

Names that begin with "own." are ours alone: decompositions emit them.
"""

from __future__ import annotations

import importlib
import pkgutil

from .registry import OWN

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_family.name}", __package__)

__all__ = ["OWN"]
