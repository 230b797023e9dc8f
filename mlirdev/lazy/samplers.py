"""What the nodes of import/own/samplers.py mean, in PyTorch's CPU ops: the same trials with the same random words."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

_TRIALS = 4096
Candidate = tuple[Tensor, Tensor]
# Four uniforms in (0, 1) for each element, by the number of the trial.
Stream = Callable[[int], list[Tensor]]
Words = Callable[[int, Tensor, int], list[Tensor]]


def stream_of(words: Words, seed: int, offset: int, count: int) -> Stream:
    """Element n's numbers have the counter offset + n; `words` is Philox of a seed, counters and a trial."""
    counters = torch.arange(count, dtype=torch.int64) + offset
    return lambda trial: [(w.double() + 0.5) * 2.0**-32 for w in words(seed, counters, trial)]


def _first_taken(stream: Stream, candidate: Callable[[list[Tensor]], Candidate], like: Tensor) -> Tensor:
    result, waiting = torch.full_like(like, math.nan), torch.ones_like(like, dtype=torch.bool)
    for trial in range(_TRIALS):
        if not waiting.any():
            break
        taken, value = candidate(stream(trial))
        result = torch.where(waiting & taken, value, result)
        waiting = waiting & ~taken & ~like.isnan()
    return result


def _inverted(stream: Stream, none: Tensor, ratio: Callable[[int], Tensor]) -> Tensor:
    high, low = stream(0)[:2]
    u = high - 2.0**-33 + low * 2.0**-32
    k, p, total = torch.zeros_like(none), none, none
    for step in range(_TRIALS):
        going = u > total
        if not going.any():
            break
        p = p * ratio(step)
        k, total = k + going, torch.where(going, total + p, total)
    return k


def gamma(stream: Stream, alpha: Tensor) -> Tensor:
    small = alpha < 1
    d = torch.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / (d * 9).sqrt()

    def candidate(u: list[Tensor]) -> Candidate:
        x = (u[0].log() * -2.0).sqrt() * (u[1] * (2 * math.pi)).cos()
        v = (c * x + 1) ** 3
        positive = v > 0
        v = torch.where(positive, v, 1.0)
        bound = x * x * 0.5 + d * (1 - v + v.log())
        power = torch.where(small, u[3].log() / alpha, 0.0)
        return positive & (u[2].log() < bound), d * v * power.exp()

    return torch.where(alpha == 0, 0.0, _first_taken(stream, candidate, alpha))


def poisson(stream: Stream, rate: Tensor) -> Tensor:
    few = torch.where(rate >= 0, _inverted(stream, (-rate).exp(), lambda k: rate / (k + 1)), math.nan)
    b = rate.sqrt() * 2.53 + 0.931
    many = _transformed(
        stream,
        a=b * 0.02483 - 0.059,
        b=b,
        centre=rate + 0.43,
        squeeze=0.9277 - 3.6224 / (b - 2),
        scale=1.1328 / (b - 3.4) + 1.1239,
        log_density=lambda k: k * rate.log() - rate - (k + 1).lgamma(),
        largest=torch.full_like(rate, math.inf),
    )
    return torch.where(rate < 10, few, many)


def binomial(stream: Stream, count: Tensor, probability: Tensor) -> Tensor:
    mirrored = probability > 0.5
    p = torch.where(mirrored, 1 - probability, probability)
    odds = p / (1 - p)
    few = _inverted(stream, (count * torch.log1p(-p)).exp(), lambda k: (count - k) / (k + 1) * odds)
    deviation = (count * p * (1 - p)).sqrt()
    b, mode = deviation * 2.53 + 1.15, ((count + 1) * p).floor()
    highest = (mode + 1).lgamma() + (count - mode + 1).lgamma()
    many = _transformed(
        stream,
        a=b * 0.0248 - 0.0873 + p * 0.01,
        b=b,
        centre=count * p + 0.5,
        squeeze=0.92 - 4.2 / b,
        scale=(5.1 / b + 2.83) * deviation,
        log_density=lambda k: highest - (k + 1).lgamma() - (count - k + 1).lgamma() + (k - mode) * odds.log(),
        largest=count,
    )
    k = torch.where(count * p < 10, few.minimum(count), many)
    k = torch.where(mirrored, count - k, k)
    k = torch.where((count <= 0) | (probability <= 0), 0.0, torch.where(probability >= 1, count, k))
    return torch.where(count.isnan() | probability.isnan(), math.nan, k)


def _transformed(
    stream: Stream,
    *,
    a: Tensor,
    b: Tensor,
    centre: Tensor,
    squeeze: Tensor,
    scale: Tensor,
    log_density: Callable[[Tensor], Tensor],
    largest: Tensor,
) -> Tensor:
    def candidate(u: list[Tensor]) -> Candidate:
        x, v = u[0] - 0.5, u[1]
        rest = 0.5 - x.abs()
        k = ((a * 2 / rest + b) * x + centre).floor()
        within = (k >= 0) & (k <= largest)
        log_v = (v * scale / (a / (rest * rest) + b)).log()
        quick = (rest >= 0.07) & (v <= squeeze)
        return within & (quick | (log_v <= log_density(torch.where(within, k, 0.0)))), k

    return _first_taken(stream, candidate, b)
