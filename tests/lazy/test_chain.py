"""Views as chains of structured ops, against as_strided on random views."""

import random

import pytest
import torch

from mlirdev.graph import Arg, Size
from mlirdev.lazy.chain import chain
from mlirdev.lazy.host import function_of


def plain(arg: Arg):
    if isinstance(arg, Size):
        return arg.value
    return [plain(a) for a in arg] if isinstance(arg, tuple) else arg


def follow(base: torch.Tensor, steps) -> torch.Tensor:
    for step in steps:
        base = function_of(step.op)(base, *map(plain, step.args))
        assert tuple(base.shape) == step.shape
    return base


def random_view(rng: random.Random, base: torch.Tensor) -> torch.Tensor:
    """A view as programs make them: a few view ops in a row."""
    x = base
    for _ in range(rng.randint(0, 4)):
        x = one_view(rng, x)
    return x


def one_view(rng: random.Random, x: torch.Tensor) -> torch.Tensor:
    kind, dim = rng.randrange(8), rng.randrange(x.dim()) if x.dim() else None
    if dim is None:
        return x.unsqueeze(0)
    size = x.shape[dim]
    if kind == 0:
        start = rng.randrange(size)
        return x.narrow(dim, start, rng.randint(1, size - start))
    if kind == 1:
        return x.select(dim, rng.randrange(size))
    if kind == 2:
        return x.permute(rng.sample(range(x.dim()), x.dim()))
    if kind == 3:
        step = rng.randint(1, size)
        return x[(slice(None),) * dim + (slice(rng.randrange(size), None, step),)]
    if kind == 4:
        return x.unsqueeze(rng.randint(0, x.dim()))
    if kind == 5:
        wide = x.unsqueeze(dim)
        return wide.expand(*wide.shape[:dim], rng.randint(1, 3), *wide.shape[dim + 1 :])
    if kind == 6:
        factors = [f for f in range(1, size + 1) if size % f == 0]
        first = rng.choice(factors)
        return x.unflatten(dim, (first, size // first))
    if dim + 1 < x.dim() and x.stride(dim) == x.stride(dim + 1) * x.shape[dim + 1]:
        return x.flatten(dim, dim + 1)
    other = rng.randrange(x.dim())
    return x.diagonal(0, dim, other) if other != dim else x


SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_views_that_programs_make(seed):
    rng = random.Random(seed)
    without = 0
    for _ in range(5000):
        shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(0, 4)))
        base = torch.arange(int(torch.Size(shape).numel())).reshape(shape)
        want = random_view(rng, base)
        steps = chain(shape, tuple(want.shape), want.stride(), want.storage_offset())
        if steps is None:
            without += 1
        else:
            assert torch.equal(follow(base, steps), want)
    assert without < 5000 * 0.05


def test_any_strides_are_right_or_refused():
    """Overlapping, skewed, with gaps: what as_strided takes."""
    rng = random.Random(0)
    for _ in range(20000):
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))
        base = torch.arange(int(torch.Size(shape).numel())).reshape(shape)
        size = tuple(rng.randint(1, 4) for _ in range(rng.randint(0, 3)))
        stride = tuple(rng.randint(0, 7) for _ in size)
        reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        if reach >= base.numel():
            continue
        offset = rng.randrange(base.numel() - reach)
        steps = chain(shape, size, stride, offset)
        if steps is not None:
            assert torch.equal(follow(base, steps), base.as_strided(size, stride, offset))


def test_a_plain_slice_needs_no_reshape():
    steps = chain((8, 16), (8, 3), (16, 1), 2)
    assert [step.op for step in steps] == ["aten.slice.Tensor"]


def test_a_transpose_is_one_permute():
    assert [step.op for step in chain((2, 3, 4), (2, 4, 3), (12, 1, 4), 0)] == ["aten.permute.default"]
