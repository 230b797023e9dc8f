"""Rules on graph nodes, one file per family; importing this package registers them all.

A rule takes the rewriter and a node whose operands are values of the new graph, and returns what replaces
each result. It casts where the CPU would: halves are computed in f32, integers in the result's dtype.
"""

from __future__ import annotations

from . import (
    activation,
    attention,
    contraction,
    elementwise,
    factory,
    index,
    loss,
    norm,
    pool,
    reduce,
    shape,
    softmax,
    upsample,
)

__all__ = [
    "activation",
    "attention",
    "contraction",
    "elementwise",
    "factory",
    "index",
    "loss",
    "norm",
    "pool",
    "reduce",
    "shape",
    "softmax",
    "upsample",
]
