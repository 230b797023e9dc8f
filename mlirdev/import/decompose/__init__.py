"""Rules on graph nodes, one file per family; importing this package registers them all.

A rule takes the rewriter and a node whose operands are values of the new graph, and returns what replaces
each result. It casts where the CPU would: halves are computed in f32, integers in the result's dtype.
"""

from __future__ import annotations

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_family.name}", __package__)
