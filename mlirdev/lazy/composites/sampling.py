"""Ops that draw by trial: gamma, Dirichlet, Poisson and binomial numbers; and multinomial ones, by a race.

Each trial of each element has a counter of its own, so an op takes a counter per element of the generator's stream.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mlirdev.graph import Arg, Ref, ScalarRef
from mlirdev.lazy import generators, views
from mlirdev.lazy.composites.draw_checks import check_multinomial
from mlirdev.lazy.composites.random import computing, log_uniform, require, uniform
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import Layout
from mlirdev.lazy.overloads import named, op
from mlirdev.lazy.record import record
from mlirdev.lazy.specs.checks import DTYPE_NAMES, refuse_unless
from mlirdev.lazy.storage import new_tensor, read
from mlirdev.lazy.trace import Cell, Entry
from mlirdev.plan import POISSON_RATE, PROBABILITIES_SUM, PROBABILITY

_entries: dict[tuple[str, Layout], Entry] = {}
# The CPU draws some only in these.
_FULL = (torch.float32, torch.float64)


def _drawn(name: str, generator: torch.Generator | None, *parameters: Cell) -> Cell:
    """In f64, for parameters of one shape and dtype."""
    doubles = [views.cast(p, torch.float64) for p in parameters]
    layout = doubles[0].layout.dense
    key = (name, layout)
    entry = _entries.get(key)
    if entry is None:
        template: tuple[Arg, ...] = (ScalarRef(0), ScalarRef(1), *map(Ref, range(len(doubles))))
        entry = _entries[key] = Entry(name, template, len(doubles), ("int", "int"), (layout,))
    return record(entry, doubles, generators.state_of(generator).take(math.prod(layout.shape)))[0]


@handles("poisson")
def poisson(self: Tensor, generator: torch.Generator | None = None) -> Tensor:
    refuse_unless(self.is_floating_point(), "poisson_cpu", self.dtype)
    rate = read(self)
    rate = require(rate, op("aten.ge.Scalar", rate, 0), POISSON_RATE)
    return new_tensor(views.cast(_drawn("mlirdev.poisson", generator, rate), self.dtype))


@handles("binomial")
def binomial(count: Tensor, prob: Tensor, generator: torch.Generator | None = None) -> Tensor:
    for name, tensor in (("count", count), ("prob", prob)):
        if not tensor.is_floating_point():
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {DTYPE_NAMES[tensor.dtype]}"
            )
    refuse_unless(count.dtype in _FULL, "binomial_cpu", count.dtype)
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"Found dtype {DTYPE_NAMES[prob.dtype]} but expected {DTYPE_NAMES[count.dtype]}")
    shape = tuple(torch.broadcast_shapes(count.shape, prob.shape))  # type: ignore[no-untyped-call]
    parameters = [views.expand(read(t), shape) if t.shape != shape else read(t) for t in (count, prob)]
    return new_tensor(views.cast(_drawn("mlirdev.binomial", generator, *parameters), count.dtype))


@handles("_standard_gamma")
def _standard_gamma(self: Tensor, generator: torch.Generator | None = None) -> Tensor:
    refuse_unless(self.dtype in _FULL, "gamma_cpu", self.dtype)
    drawn = views.cast(_drawn("mlirdev.standard_gamma", generator, read(self)), self.dtype)
    return new_tensor(op("aten.clamp_min.default", drawn, torch.finfo(self.dtype).tiny))


@handles("_sample_dirichlet")
def _sample_dirichlet(self: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Gamma numbers over their sum, kept away from 0 and 1 as on the CPU."""
    refuse_unless(self.dtype in _FULL, "dirichlet", self.dtype)
    drawn = _drawn("mlirdev.standard_gamma", generator, read(self))
    drawn = op("aten.clamp_min.default", drawn, torch.finfo(torch.float64).tiny)
    shares = op("aten.div.Tensor", drawn, op("aten.sum.dim_IntList", drawn, [-1], True))
    info = torch.finfo(self.dtype)
    bounded = op("aten.clamp.default", views.cast(shares, self.dtype), info.tiny, 1.0 - info.eps / 2)
    return new_tensor(bounded)


@handles("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """The largest of p / e with e exponential falls on each with probability p: a race, without looking at p."""
    check_multinomial(self, num_samples, replacement)
    dtype = computing(self.dtype)  # halves would have ties
    p = views.cast(_checked(read(self)), dtype)
    if replacement and num_samples > 1:
        return new_tensor(_found(p, num_samples, generator))
    clock = op("aten.neg.default", log_uniform(tuple(self.shape), dtype, generator))
    race = op("aten.div.Tensor", p, clock)
    if num_samples == 1:
        return new_tensor(op("aten.argmax.default", race, -1, True))
    winners = named("aten.topk.default").call(race, num_samples)[1]
    assert winners is not None
    return new_tensor(winners)


def _found(p: Cell, count: int, generator: torch.Generator | None) -> Cell:
    """Where uniforms fall among the running sums."""
    sums = op("aten.cumsum.default", p, -1)
    shares = uniform((*p.layout.shape[:-1], count), p.layout.dtype, generator)
    points = op("aten.mul.Tensor", shares, op("aten.amax.default", sums, [-1], True))
    return op("aten.searchsorted.Tensor", sums, points, right=True)


def _checked(p: Cell) -> Cell:
    """The same probabilities; that they are some is found when they are drawn from."""
    finite = op("aten.lt.Scalar", p, float("inf"))
    p = require(p, op("aten.logical_and.default", op("aten.ge.Scalar", p, 0.0), finite), PROBABILITY)
    total = op("aten.sum.dim_IntList", p, [-1], True)
    return require(p, op("aten.gt.Scalar", total, 0.0), PROBABILITIES_SUM)
