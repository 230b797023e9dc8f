"""Operators that we emit as linalg ourselves, one file per family; OWN has them all by name.

Names that begin with "own." are ours alone: decompositions emit them.
"""

from __future__ import annotations

from . import index, random, reduce, strided
from .registry import OWN

__all__ = ["OWN", "index", "random", "reduce", "strided"]
