"""What a random line is made of: a seed's choices among the tensors that the CPU's side has now."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

SHAPES = ((4, 6), (2, 3, 4), (6,), (2, 3, 2, 2), (3, 1, 2), (5, 5), (), (0, 3), (1, 4), (2, 4, 1, 3))
DTYPES = ("float32",) * 6 + ("float64", "int64", "int64", "int32", "bool", "bfloat16", "uint8")
FLOATS = (torch.float32, torch.float64, torch.bfloat16)
NARROW = (torch.uint8, torch.int32, torch.bool)
LIMIT = 1e5
LARGEST = 4096  # elements of a tensor that a program may have


class Draw:
    """One program's choices. `names` is the CPU's side: what a name means there."""

    def __init__(self, seed: int, names: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.names = names
        self.count = 0
        self.choice = self.random.choice
        self.randint = self.random.randint

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count - 1}"

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, value) for name, value in self.names.items() if isinstance(value, Tensor))

    def tensor(self, fits: Callable[[Tensor], bool] = lambda t: True) -> tuple[str, Tensor] | None:
        """One of those that fit, the later ones rather."""
        found = [(name, t) for name, t in self.tensors() if fits(t)]
        return self.random.choices(found, range(2, len(found) + 2))[0] if found else None

    def dim(self, t: Tensor, fits: Callable[[int], bool] = lambda size: True) -> int | None:
        dims = [d for d in range(t.dim()) if fits(t.shape[d])]
        return self.choice(dims) if dims else None

    def number(self, t: Tensor | None = None) -> float | int | bool:
        """A number for an op on `t`; rarely one that its dtype doesn't hold."""
        if t is not None and t.dtype in NARROW and self.chance(0.04):
            return self.choice((-1, 300, 1 << 33))
        if t is not None and t.dtype is torch.bool:
            return self.chance(0.5)
        if t is not None and t.dtype is torch.uint8:
            return self.randint(0, 5)
        if t is not None and not t.dtype.is_floating_point and self.chance(0.9):
            return self.randint(-4, 5)
        return self.randint(-8, 8) / 2

    def broadcasting(self, t: Tensor) -> str | None:
        """A tensor that broadcasts to `t`."""
        found = self.tensor(lambda o: broadcasts(o.shape, t.shape) and tame(o) and not odd_source(o, t))
        return None if found is None else found[0]

    def operand(self, t: Tensor) -> str:
        """A number or a tensor for an op that writes or reads `t`."""
        other = None if self.chance(0.3) else self.broadcasting(t)
        if other is None:
            return str(self.number(t))
        return f"{other}.clone()" if self.chance(0.2) else other

    def shape_of(self, count: int) -> tuple[int, ...]:
        """A shape of so many elements; rarely of others."""
        if self.chance(0.04):
            count += 1
        if count == 0:
            return self.choice(((0,), (0, 2), (3, 0)))
        shape: list[int] = []
        for factor in prime_factors(count):
            if shape and self.chance(0.5):
                shape[self.random.randrange(len(shape))] *= factor
            else:
                shape.append(factor)
        if self.chance(0.2):
            shape.insert(self.randint(0, len(shape)), 1)
        return tuple(shape)

    def indices(self, count: int, bound: int) -> list[int]:
        return [self.random.randrange(bound) for _ in range(count)]


def prime_factors(n: int) -> list[int]:
    factors, p = [], 2
    while n > 1:
        while n % p == 0:
            factors.append(p)
            n //= p
        p += 1
    return factors


def broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def tame(t: Tensor) -> bool:
    """Values that one can compute with: what reinterpreted bits give may be NaN, whose bits nobody promises, or bools
    that are neither true nor false."""
    if t.dtype is torch.bool:
        return bool((t.detach().view(torch.uint8) <= 1).all())
    if not t.dtype.is_floating_point:
        return not t.dtype.is_complex and bool((t.detach().abs() < 1e9).all())
    size = t.detach().abs()
    return bool(((size < LIMIT) & ((size == 0) | (size > 1e-12))).all())


def is_leaf(t: Tensor) -> bool:
    try:
        return t.is_leaf
    except RuntimeError:  # a view that was written where it may not be
        return False


def odd_source(source: Tensor, target: Tensor) -> bool:
    """Assigning a number goes another way on the CPU than on devices: it makes even integers require a gradient, and
    doesn't see that the number may be part of the target."""
    shares = source.untyped_storage()._cdata == target.untyped_storage()._cdata
    return not source.dim() and (shares or (source.requires_grad and not target.is_floating_point()))
