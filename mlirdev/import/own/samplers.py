"""mlirdev.standard_gamma, mlirdev.poisson, mlirdev.binomial: what is drawn by trial, element by element.

    element n, trial t ──Philox──► four uniforms ──► a candidate, taken or not

Each trial of each element has a counter of its own, so how many trials another element took changes nothing.
All is computed in f64, as on the CPU. samplers.py in lazy/ says the same in PyTorch's ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node

from ..emitter import Emitter
from ..scalars import Scalar, select
from .formula import NAN, PI, branch, loop
from .random import philox4x32
from .registry import own
from .special.gamma import lgamma

# No element takes as many, unless its parameters are NaN.
_TRIALS = 4096.0
# The last word of their counters, which is 0 in mlirdev.philox's.
_SAMPLERS = 1

Candidate = tuple[Scalar, Scalar]  # is it taken, and its value
Density = Callable[[Scalar], Scalar]


@dataclass
class Stream:
    """The random numbers of one element."""

    seed: Scalar
    counter: Scalar

    def uniforms(self, trial: Scalar) -> list[Scalar]:
        """Four in (0, 1)."""
        e = trial.e
        number = e.op("arith.fptosi", e.i64, trial.value)
        words = philox4x32(e, self.counter.value, self.seed.value, (number, e.constant(_SAMPLERS, e.i64)))
        return [(Scalar(e, w).double() + 0.5) * 2.0**-32 for w in words]

    def first_taken(self, candidate: Callable[[list[Scalar]], Candidate], like: Scalar) -> Scalar:
        """The candidate of the first trial that is taken; NaN if none is."""
        waits = Scalar(like.e, like.e.constant(1, like.e.i1))

        def going(trial: Scalar, waiting: Scalar, _: Scalar) -> Scalar:
            return waiting & (trial < _TRIALS)

        def step(trial: Scalar, _: Scalar, __: Scalar) -> Sequence[Scalar]:
            taken, value = candidate(self.uniforms(trial))
            return [trial + 1.0, ~taken, select(taken, value, NAN)]

        return loop([like.like(0.0), waits, like.like(NAN)], going, step)[2]

    def inverted(self, none: Scalar, ratio: Density) -> Scalar:
        """The least k whose distribution function isn't below a uniform: p(0) = none, p(k + 1) = p(k) · ratio(k)."""
        high, low = self.uniforms(none.like(0.0))[:2]
        u = high - 2.0**-33 + low * 2.0**-32

        def going(k: Scalar, _: Scalar, total: Scalar) -> Scalar:
            return (u > total) & (k < _TRIALS)

        def step(k: Scalar, p: Scalar, total: Scalar) -> Sequence[Scalar]:
            p = p * ratio(k)
            return [k + 1.0, p, total + p]

        return loop([none.like(0.0), none, none], going, step)[0]


Draw = Callable[..., Scalar]


def _sampler(name: str) -> Callable[[Draw], Draw]:
    """<name>(seed, offset, parameters…), f64: element n draws with the counter offset + n."""

    def register(draw: Draw) -> Draw:
        @own(name)
        def emit(e: Emitter, node: Node) -> Sequence[ir.Value]:
            seed, offset = e.integer(node.args[0]), e.integer(node.args[1])
            shape = node.results[0].shape

            def body(*parameters: ir.Value) -> ir.Value:
                number = e.constant(0, e.i64)
                for d, size in enumerate(shape):
                    number = e.add(e.mul(number, e.dim_i64(size)), e.iteration(d))
                stream = Stream(Scalar(e, seed), Scalar(e, e.add(offset, number)))
                return draw(stream, *(Scalar(e, p) for p in parameters)).value

            inputs = [(e.tensor(a), list(range(len(shape)))) for a in node.args[2:]]
            return [e.generic(shape, e.element_type(DType.f64), inputs, body)]

        return draw

    return register


@_sampler("mlirdev.standard_gamma")
def gamma(stream: Stream, alpha: Scalar) -> Scalar:
    """Marsaglia and Tsang, 2000. Below 1, the draw for alpha + 1 times u^(1 / alpha)."""
    small = alpha < 1.0
    d = select(small, alpha + 1.0, alpha) - 1 / 3
    c = 1.0 / (d * 9.0).sqrt()

    def candidate(u: list[Scalar]) -> Candidate:
        x = (u[0].log() * -2.0).sqrt() * (u[1] * (2 * PI)).cos()
        root = c * x + 1.0
        v = root * root * root
        positive = v > 0.0
        v = select(positive, v, 1.0)
        bound = x * x * 0.5 + d * (1.0 - v + v.log())
        power = select(small, u[3].log() / alpha, 0.0)
        return positive & (u[2].log() < bound), d * v * power.exp()

    return select(alpha.equals(0.0), 0.0, stream.first_taken(candidate, alpha))


@_sampler("mlirdev.poisson")
def poisson(stream: Stream, rate: Scalar) -> Scalar:
    """Inverted below 10; above, PTRS (Hörmann, 1993)."""

    def few() -> Scalar:
        return select(rate >= 0.0, stream.inverted((-rate).exp(), lambda k: rate / (k + 1.0)), NAN)

    def many() -> Scalar:
        b = rate.sqrt() * 2.53 + 0.931
        log_rate = rate.log()
        return _transformed(
            stream,
            a=b * 0.02483 - 0.059,
            b=b,
            centre=rate + 0.43,
            squeeze=0.9277 - 3.6224 / (b - 2.0),
            scale=1.1328 / (b - 3.4) + 1.1239,
            log_density=lambda k: k * log_rate - rate - lgamma(k + 1.0),
            largest=rate.like(float("inf")),
        )

    return branch(rate < 10.0, few, many, of=rate)


@_sampler("mlirdev.binomial")
def binomial(stream: Stream, count: Scalar, probability: Scalar) -> Scalar:
    """Inverted where fewer than 10 are expected; else BTRS (Hörmann, 1993). Above one half the failures are drawn."""
    mirrored = probability > 0.5
    p = select(mirrored, 1.0 - probability, probability)
    odds = p / (1.0 - p)

    def few() -> Scalar:
        none = (count * (-p).math("log1p")).exp()
        k = stream.inverted(none, lambda k: (count - k) / (k + 1.0) * odds)
        return select(k > count, count, k)

    def many() -> Scalar:
        deviation = (count * p * (1.0 - p)).sqrt()
        b = deviation * 2.53 + 1.15
        mode, log_odds = ((count + 1.0) * p).floor(), odds.log()
        highest = lgamma(mode + 1.0) + lgamma(count - mode + 1.0)
        return _transformed(
            stream,
            a=b * 0.0248 - 0.0873 + p * 0.01,
            b=b,
            centre=count * p + 0.5,
            squeeze=0.92 - 4.2 / b,
            scale=(5.1 / b + 2.83) * deviation,
            log_density=lambda k: highest - lgamma(k + 1.0) - lgamma(count - k + 1.0) + (k - mode) * log_odds,
            largest=count,
        )

    k = branch(count * p < 10.0, few, many, of=count)
    k = select(mirrored, count - k, k)
    k = select((count <= 0.0) | (probability <= 0.0), 0.0, select(probability >= 1.0, count, k))
    return select(count.is_nan() | probability.is_nan(), NAN, k)


def _transformed(
    stream: Stream,
    *,
    a: Scalar,
    b: Scalar,
    centre: Scalar,
    squeeze: Scalar,
    scale: Scalar,
    log_density: Density,
    largest: Scalar,
) -> Scalar:
    """Transformed rejection with squeeze."""

    def candidate(u: list[Scalar]) -> Candidate:
        x, v = u[0] - 0.5, u[1]
        rest = 0.5 - abs(x)
        k = ((a * 2.0 / rest + b) * x + centre).floor()
        within = (k >= 0.0) & (k <= largest)
        log_v = (v * scale / (a / (rest * rest) + b)).log()
        quick = (rest >= 0.07) & (v <= squeeze)
        return within & (quick | (log_v <= log_density(select(within, k, 0.0)))), k

    return stream.first_taken(candidate, b)
