"""Operators that we emit as linalg ourselves, one file per family; OWN has them all by name.

Names that begin with "own." are ours alone: decompositions emit them.
"""

from __future__ import annotations

from . import factory, index, random, reduce, scalar, shape, strided
from .registry import OWN

__all__ = ["OWN", "factory", "index", "random", "reduce", "scalar", "shape", "strided"]
