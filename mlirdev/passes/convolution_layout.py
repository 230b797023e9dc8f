"""Where a block of a convolution's input lies for direct_convolution.py: copied, or in place.

copied     [channels][phases][rows × row length], rows without gaps; one row's zeros on the right are the next one's
           on the left
in place   the input itself, where nothing is padded and nothing skipped
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mlirdev.passes.contraction import Contraction
from mlirdev.passes.window import Axis, Window

# More columns computed than stored aren't worth it.
MOST_WASTE = 1.6


@dataclass(frozen=True)
class Layout:
    """Where what a block reads lies: `plain` strides of the reduced dims that aren't taps, per axis the number of
    phases, the length, and the distance `steps` between neighbours; `columns` outputs from the first to the last."""

    rows: int
    plain: dict[int, int]
    phases: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    columns: int
    plane: int
    size: int
    is_copy: bool


def phases_of(axis: Axis) -> int:
    """How many images of every stride-th element the taps read."""
    every = math.gcd(axis.stride, axis.dilation)
    return min(axis.stride // every, (axis.taps - 1) * axis.dilation // every + 1)


def shift_of(axis: Axis) -> int:
    """How far a phase's image reaches beyond as many places as there are outputs."""
    return (axis.taps - 1) * axis.dilation // axis.stride


def stays_inside(axis: Axis) -> bool:
    """Whether a copy reads nothing beyond the input. A phase whose last place no tap reads has it all the same."""
    every = math.gcd(axis.stride, axis.dilation)
    last = (axis.outs + shift_of(axis) - 1) * axis.stride + (phases_of(axis) - 1) * every
    return axis.before == 0 and last < axis.size


def copied(c: Contraction, window: Window, rows: int, lanes: int) -> Layout:
    """The layout of a copy for `rows` outputs of the first axis."""
    axes = window.axes
    outs = [rows, *(a.outs for a in axes[1:])]
    lengths = [o + shift_of(a) for o, a in zip(outs, axes, strict=True)]
    shared = _shared_zeros(axes[-1], lengths[-1]) if len(axes) > 1 else 0
    steps = [1]
    for i in range(len(axes) - 1, 0, -1):
        row = max(lengths[i] - shared, outs[i]) if i == len(axes) - 1 else lengths[i]
        steps.insert(0, steps[0] * row)
    # Rows are written in whole vectors, and the last one's shared zeros lie behind it.
    plane = lengths[0] * steps[0] + shared + lanes
    phases = [phases_of(a) for a in axes]
    taps = {a.tap for a in axes}
    size, plain = plane * math.prod(phases), {}
    for d in reversed([d for d in sorted((*c.k, *c.outer_k)) if d not in taps]):
        plain[d] = size
        size *= c.nest.extents[d]
    columns = sum((o - 1) * step for o, step in zip(outs, steps, strict=True)) + 1
    return Layout(rows, plain, tuple(phases), tuple(lengths), tuple(steps), columns, plane, size, True)


def _shared_zeros(axis: Axis, length: int) -> int:
    """How many zeros at the end of a row can be those at the start of the next, in all phases."""
    shared = length
    every = math.gcd(axis.stride, axis.dilation)
    for phase in range(phases_of(axis)):
        places = [t * axis.stride + phase * every for t in range(length)]
        left = sum(p < axis.before for p in places)
        right = sum(p >= axis.before + axis.size for p in places)
        shared = min(shared, left, right)
    return shared


def in_place(c: Contraction, window: Window, rows: int) -> Layout | None:
    """The layout of the input itself, if a block can be read from there."""
    axes = window.axes
    if not all(a.is_inside and a.stride == 1 for a in axes) or window.memref.type.element_type != c.c.element_type:
        return None
    steps = tuple(a.step for a in axes)
    outs = [rows, *(a.outs for a in axes[1:])]
    columns = sum((o - 1) * step for o, step in zip(outs, steps, strict=True)) + 1
    if steps[-1] != 1 or axes[0].outs % rows or columns > MOST_WASTE * math.prod(outs):
        return None
    if any(outer < inner * out for outer, inner, out in zip(steps, steps[1:], outs[1:], strict=False)):
        return None
    taps = {a.tap for a in axes}
    plain = {d: window.strides[d] for d in (*c.k, *c.outer_k) if d not in taps}
    return Layout(rows, plain, (1,) * len(axes), (0,) * len(axes), steps, columns, 0, 0, False)
