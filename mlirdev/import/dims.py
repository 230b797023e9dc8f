"""Arithmetic on sizes that may be inputs of the graph."""

from __future__ import annotations

from mlirdev.errors import InternalError, MlirdevError
from mlirdev.graph import Arg, Size
from mlirdev.plan import PlanDim
from mlirdev.sizes import add, floordiv, mul, product, sub

__all__ = [
    "RuntimeSizeError", "Shape", "add", "axes_of", "broadcast", "floordiv", "int_of", "ints_of", "mul", "product",
    "shape_of", "size_of", "static", "sub", "wrap",
]  # fmt: skip

Shape = tuple[PlanDim, ...]


class RuntimeSizeError(MlirdevError):
    """A rule needs a size that is known only when run; becomes a LoweringError of the node."""


def static(dim: PlanDim) -> int:
    """A size that has to be known when compiled."""
    if not isinstance(dim, int):
        raise RuntimeSizeError("a size that is known only when run")
    return dim


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation on both; recording has checked that they fit."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    # A fixed size says more than an input that equals it.
    return tuple(
        y if x == 1 or (isinstance(y, int) and y != 1 and not isinstance(x, int)) else x
        for x, y in zip(a, b, strict=True)
    )


def wrap(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + max(rank, 1) if dim < 0 else dim


def size_of(arg: Arg) -> PlanDim:
    """A size argument, which is an int where its place is structural."""
    if isinstance(arg, Size):
        return arg.value
    if isinstance(arg, int):
        return arg
    raise InternalError(f"{arg!r} isn't a size")


def shape_of(arg: Arg) -> Shape:
    """A list of size arguments."""
    return tuple(size_of(a) for a in arg) if isinstance(arg, tuple) else (size_of(arg),)


def int_of(arg: Arg) -> int:
    return static(size_of(arg))


def ints_of(arg: Arg, repeat: int = 1) -> tuple[int, ...]:
    """A list of structural ints; a single one stands for `repeat` of them, as in torch."""
    values = tuple(int_of(a) for a in arg) if isinstance(arg, tuple) else (int_of(arg),)
    return values * repeat if len(values) == 1 else values


def axes_of(arg: Arg, rank: int) -> list[int]:
    """Dimensions counted from the front; None and an empty list stand for all of them."""
    if arg is None or arg == ():
        return list(range(rank))
    return [wrap(d, rank) for d in ints_of(arg)]
