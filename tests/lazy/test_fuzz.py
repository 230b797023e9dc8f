"""Random programs of views, writes through them and copies, on the device beside the CPU.

A program is a list of tensor pairs and random steps on them: new views, in-place ops, assignments to slices,
functional ops, launches at any point. Whatever shares memory on the CPU must share it on the device. The fast
runs use the reference executor, the slow ones the compiler.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev.options import options

STEPS = 40
LIMIT = 12  # how many tensors a program keeps


class Program:
    """The tensors of one program, each on both devices."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.random = random.Random(seed)
        self.device = device
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self.steps: list[str] = []
        for shape in ((4, 6), (2, 3, 4)):
            cpu = torch.arange(24.0).view(shape) - 9
            self.pairs.append((cpu, cpu.to(device, copy=True)))

    def run(self) -> None:
        with torch.no_grad():
            for _ in range(STEPS):
                self.step()
                del self.pairs[: max(0, len(self.pairs) - LIMIT)]
        for place in range(len(self.pairs)):
            self.compare(place)

    def step(self) -> None:
        kind = self.random.choices(("view", "write", "compute", "launch", "drop"), (5, 5, 3, 2, 1))[0]
        getattr(self, kind)()

    def view(self) -> None:
        """Another look at one of the tensors."""
        pair = self.pick()
        function = self.random.choice(VIEWS)(self.random, pair[0])
        self.keep(function, pair)

    def write(self) -> None:
        """Write through one of the tensors, a number or another's values."""
        target = self.pick()
        if shares_with_itself(target[0]):
            return  # eager refuses, or writes in no defined order
        function = self.random.choice(WRITES)
        self.steps.append(f"{function.__name__} {list(target[0].shape)} {target[0].stride()}")
        for tensor, operand in zip(target, self.value_for(target), strict=True):
            function(tensor, operand)

    def compute(self) -> None:
        """A new tensor out of one or two."""
        pair = self.pick()
        value = self.value_for(pair)
        function = self.random.choice(COMPUTE)
        self.steps.append(f"{function.__name__} {list(pair[0].shape)}")
        self.pairs.append((function(pair[0], value[0]), function(pair[1], value[1])))

    def launch(self) -> None:
        """Have what is recorded run, and perhaps look at a value."""
        if self.random.random() < 0.5:
            mlirdev.sync()
            self.steps.append("sync")
        else:
            self.compare(self.random.randrange(len(self.pairs)))

    def drop(self) -> None:
        if len(self.pairs) > 2:
            self.pairs.pop(self.random.randrange(len(self.pairs)))
            self.steps.append("drop")

    def pick(self) -> tuple[Tensor, Tensor]:
        return self.random.choice(self.pairs)

    def value_for(self, target: tuple[Tensor, Tensor]) -> tuple[Tensor | float, Tensor | float]:
        """An operand that broadcasts to the target; a copy, since what overlaps has no defined order in eager."""
        fits = [p for p in self.pairs if broadcasts(p[0].shape, target[0].shape)]
        if not fits or self.random.random() < 0.3:
            number = self.random.randint(-4, 4) / 2
            return number, number
        cpu, ours = self.random.choice(fits)
        return cpu.clone(), ours.clone()

    def keep(self, function: Callable[[Tensor], Tensor] | None, pair: tuple[Tensor, Tensor]) -> None:
        if function is None:
            return
        made = function(pair[0]), function(pair[1])
        if made[0].numel():
            assert strides(made[0]) == strides(made[1]), self.steps
            assert made[0].storage_offset() == made[1].storage_offset(), self.steps
        self.steps.append(f"view {list(made[0].shape)} {made[0].stride()} {made[0].storage_offset()}")
        self.pairs.append(made)

    def compare(self, place: int) -> None:
        cpu, ours = self.pairs[place]
        self.steps.append("compare")
        torch.testing.assert_close(ours.cpu(), cpu, equal_nan=True, msg=lambda text: "\n".join([*self.steps, text]))


def shares_with_itself(tensor: Tensor) -> bool:
    """Do two elements have the same memory?"""
    places = torch.arange(tensor.untyped_storage().nbytes() // tensor.itemsize)
    seen = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return seen.unique().numel() != seen.numel()


def strides(tensor: Tensor) -> list[int]:
    """Those that count: where a dim is 1, a copy of ours needn't keep its stride."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


# Each picks the place for one tensor, and gives the same view of both; None where it doesn't fit.
View = Callable[[random.Random, Tensor], "Callable[[Tensor], Tensor] | None"]


def select(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    dims = [d for d in range(like.dim()) if like.shape[d]]
    if not dims:
        return None
    dim = choose.choice(dims)
    index = choose.randrange(like.shape[dim])
    return lambda t: t.select(dim, index)


def cut(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    if not like.dim():
        return None
    dim = choose.randrange(like.dim())
    start, step = choose.randint(0, like.shape[dim]), choose.randint(1, 3)
    place = (*[slice(None)] * dim, slice(start, choose.randint(start, like.shape[dim]), step))
    return lambda t: t[place]


def permute(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    order = choose.sample(range(like.dim()), like.dim())
    return lambda t: t.permute(order)


def flatten(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    return (lambda t: t.view(-1)) if like.is_contiguous() else None


def unflatten(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    dims = [d for d in range(like.dim()) if like.shape[d] % 2 == 0 and like.shape[d]]
    if not dims:
        return None
    dim = choose.choice(dims)
    return lambda t: t.unflatten(dim, (2, -1))


def expand(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    return (lambda t: t.expand(3, *t.shape)) if like.dim() < 3 else None


def diagonal(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    return (lambda t: t.diagonal()) if like.dim() >= 2 else None


def windows(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    return (lambda t: t.unfold(0, 2, 1)) if like.dim() in (1, 2) and like.shape[0] >= 2 else None


def bits(choose: random.Random, like: Tensor) -> Callable[[Tensor], Tensor] | None:
    return lambda t: t.detach()


VIEWS: tuple[View, ...] = (select, cut, cut, permute, flatten, unflatten, expand, diagonal, windows, bits)


def add_(target: Tensor, value: Tensor | float) -> None:
    target.add_(value, alpha=0.5)


def multiply_(target: Tensor, value: Tensor | float) -> None:
    target.mul_(value).clamp_(-64, 64)


def assign(target: Tensor, value: Tensor | float) -> None:
    target[...] = value


def assign_half(target: Tensor, value: Tensor | float) -> None:
    if target.dim():
        target[::2] = value if not isinstance(value, Tensor) or value.dim() < target.dim() else 1.5


def assign_masked(target: Tensor, value: Tensor | float) -> None:
    target.masked_fill_(target > value, -2.0)


def zero_(target: Tensor, value: Tensor | float) -> None:
    target.zero_()


WRITES = (add_, multiply_, assign, assign_half, assign_masked, zero_)


def plus(tensor: Tensor, value: Tensor | float) -> Tensor:
    return tensor + value


def clipped_product(tensor: Tensor, value: Tensor | float) -> Tensor:
    return (tensor * value).clamp(-64, 64)


def copy(tensor: Tensor, value: Tensor | float) -> Tensor:
    return tensor.clone()


def row_major(tensor: Tensor, value: Tensor | float) -> Tensor:
    return tensor.contiguous()


def summed(tensor: Tensor, value: Tensor | float) -> Tensor:
    return tensor.sum(-1) / 8 if tensor.dim() else tensor + 1


COMPUTE = (plus, clipped_product, copy, row_major, summed)


@pytest.fixture
def compiled(reference) -> Iterator[None]:
    with options.override(compile="workers"):
        yield
        mlirdev.sync()


@pytest.mark.parametrize("seed", range(100))
def test_lazy(dev, seed):
    Program(seed, dev).run()


@pytest.mark.parametrize("mode", ["eager", "blocking"])
@pytest.mark.parametrize("seed", range(15))
def test_other_modes(dev, mode, seed):
    with options.override(mode=mode):
        Program(1000 + seed, dev).run()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_compiled(dev, compiled, seed):
    Program(2000 + seed, dev).run()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "blocking"])
def test_compiled_in_other_modes(dev, compiled, mode):
    with options.override(mode=mode):
        Program(3000, dev).run()
