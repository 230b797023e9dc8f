"""What a rule sees and what it answers.

    args (schema order, defaults filled in) ─► Rule ─► one OutSpec per result

A tensor argument stands as `Meta`, a list of tensors as a tuple of `Meta`, a Python number in a Tensor
slot as a `Meta` with `is_wrapped`, an absent argument as None, and every other argument as itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch

Shape: TypeAlias = "tuple[int, ...]"
# None stands for the strides of a contiguous tensor, the common case: it makes keys short and rules fast.
Strides: TypeAlias = "tuple[int, ...] | None"


class Meta(NamedTuple):
    """A tensor argument. `is_wrapped` marks a Python number: it yields to tensors in type promotion."""

    shape: Shape
    dtype: torch.dtype
    stride: Strides = None
    is_wrapped: bool = False


class OutSpec(NamedTuple):
    """A result: what eager PyTorch on the CPU returns."""

    shape: Shape
    dtype: torch.dtype
    stride: Strides = None


class DataDependentError(Exception):
    """Raised in a row where the result's shape depends on the operands' values (a mask as an index)."""


class Rule(Protocol):
    """The results' specs from an overload's arguments. Pure; raises what eager raises for wrong arguments.

    None for a result that eager leaves undefined (a gradient that `output_mask` excludes); None for all of
    them where only running the op tells their shapes.
    """

    def __call__(self, args: tuple[Any, ...], /) -> tuple[OutSpec | None, ...] | None: ...


# How rules are written: a function of the overload's arguments, as its schema names them.
Row: TypeAlias = Callable[..., "OutSpec | tuple[OutSpec | None, ...]"]
Table: TypeAlias = "dict[str, Row]"


def rows(row: Row, names: str) -> Table:
    """One table row per overload in `names` (blank-separated; `name` alone means `aten.name.default`)."""
    return {full_name(name): row for name in names.split()}


def full_name(name: str) -> str:
    """`add.Tensor` → `aten.add.Tensor`, `relu` → `aten.relu.default`; a name with its namespace stays."""
    parts = name.split(".")
    if len(parts) == 3:
        return name
    return f"aten.{name}" if len(parts) == 2 else f"aten.{name}.default"
