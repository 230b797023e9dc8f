"""How the sizes of a graph hang together: every size as arithmetic on the dims that vary.

    dims that vary ─► Syms ─► node by node: results from operands, arguments from both ─► a generalised graph

Recorded sizes are plain numbers, which Python computed out of sight. What a size depends on is told by the operator
where that is a matter of counting (views, slices, concatenations), else by its place and its value. With two
recordings of one skeleton, a size must fit what was seen in both, and what fits nothing becomes a Sym of its own. With
one alone it is a guess, which costs a compile where it is wrong, never a result: an executable takes only recordings
whose sizes are all as its graph says (`generalise.match`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mlirdev.graph import Arg, Dim, Graph, Node, Size, Sym, TensorSpec, walk_args
from mlirdev.sizes import add, evaluate, factors, mul, product, sub, total

# What a size was in each of the recordings.
Seen: TypeAlias = "tuple[int, ...]"
# A dim of a value: the value's number and the dim's.
Place: TypeAlias = "tuple[int, int]"


def with_varying(recordings: Sequence[Graph], varying: Iterable[Place]) -> tuple[Graph, tuple[int, ...]]:
    """The graph of one or two recordings of one skeleton in which these dims are inputs, and the values of its syms for
    the last of them."""
    return _Walk(recordings, frozenset(varying)).run()


@dataclass(frozen=True)
class _Shape:
    """A value's dims, each with what was seen of it."""

    dims: tuple[Dim, ...]
    seen: tuple[Seen, ...]

    def varying(self) -> Iterator[tuple[Dim, Seen]]:
        return ((d, s) for d, s in zip(self.dims, self.seen, strict=True) if not isinstance(d, int))

    def has_fixed(self, seen: Seen) -> bool:
        return any(isinstance(d, int) and s == seen for d, s in zip(self.dims, self.seen, strict=True))


@dataclass
class _Known:
    """The syms with what was seen of each, and a dim that varies for each thing seen."""

    recordings: int
    syms: dict[Seen, Sym] = field(default_factory=dict)
    dims: dict[Seen, Dim] = field(default_factory=dict)

    def value(self, dim: Dim) -> Seen:
        """What was seen of a dim."""
        return tuple(evaluate(dim, tuple(seen[k] for seen in self.syms)) for k in range(self.recordings))

    def sym(self, seen: Seen) -> Sym:
        return self.syms.setdefault(seen, Sym(len(self.syms)))

    def counted(self, seen: Seen) -> Dim | None:
        """What a factory counts to: a dim that varies, or the next after one."""
        before = self.dims.get(tuple(n - 1 for n in seen))
        return self.dims.get(seen) or (None if before is None else add(before, 1))

    def settled(self, guess: Dim | None, seen: Seen, varies: bool) -> Dim:
        """The guess where it fits, else a dim or sym of this size if it varies, else what was seen."""
        if guess is None or guess is _OPEN or isinstance(guess, int) or self.value(guess) != seen:
            is_open = guess is _OPEN and self.recordings == 1
            if len(set(seen)) == 1 and not varies and not is_open:
                return seen[0]
            guess = self.sym(seen) if varies or is_open else self.dims.get(seen) or self.sym(seen)
        self.dims.setdefault(seen, guess)
        return guess


@dataclass(frozen=True)
class _Step:
    """A node, its operands' shapes, and what was seen of its results and of the sizes among its arguments."""

    node: Node
    operands: list[_Shape]
    results: list[tuple[Seen, ...]]
    sizes: list[Seen]
    known: _Known


_Guesses: TypeAlias = "list[Dim | None]"
# A guess: it varies, and nobody can say how.
_OPEN = Sym(-1)


class _Walk:
    def __init__(self, recordings: Sequence[Graph], varying: frozenset[Place]) -> None:
        self.recordings = recordings
        self.varying = varying
        self.known = _Known(len(recordings))
        self.shapes: list[_Shape] = []
        self.sizes: list[Dim] = []  # in the order of `Graph.map_sizes`

    def run(self) -> tuple[Graph, tuple[int, ...]]:
        for specs in zip(*(g.inputs for g in self.recordings), strict=True):
            seen = _seen(specs)
            self.sizes += self._value([None] * len(seen), seen).dims
        for nodes in zip(*(g.nodes for g in self.recordings), strict=True):
            self._node(nodes)
        sizes = iter(self.sizes)
        graph = self.recordings[-1].map_sizes(lambda _: next(sizes))
        return replace(graph, syms=len(self.known.syms)), tuple(seen[-1] for seen in self.known.syms)

    def _node(self, nodes: tuple[Node, ...]) -> None:
        operands = [self.shapes[v] for v in nodes[0].operands()]
        results = [_seen(specs) for specs in zip(*(n.results for n in nodes), strict=True)]
        sizes = list(zip(*(_sizes(n.args) for n in nodes), strict=True))
        step = _Step(nodes[0], operands, results, sizes, self.known)
        guesses = _RESULTS.get(step.node.op, _by_place)(step)
        made = [self._value(guess, seen) for guess, seen in zip(guesses, results, strict=True)]
        arguments = _ARGUMENTS.get(step.node.op, _by_value)(step, made)
        self.sizes += [self.known.settled(guess, seen, False) for guess, seen in zip(arguments, sizes, strict=True)]
        self.sizes += [dim for shape in made for dim in shape.dims]

    def _value(self, guesses: _Guesses, seen: tuple[Seen, ...]) -> _Shape:
        number = len(self.shapes)
        dims = tuple(
            self.known.settled(guess, s, (number, i) in self.varying)
            for i, (guess, s) in enumerate(zip(guesses, seen, strict=True))
        )
        self.shapes.append(_Shape(dims, seen))
        return self.shapes[-1]


def _seen(specs: Sequence[TensorSpec]) -> tuple[Seen, ...]:
    """What was seen of each dim; recorded sizes are ints."""
    return tuple(zip(*(spec.shape for spec in specs), strict=True))


def _sizes(args: tuple[Arg, ...]) -> list[int]:
    return [arg.value for arg in walk_args(args) if isinstance(arg, Size)]  # type: ignore[misc]  # as above


# --- results -------------------------------------------------------------------------------------


def _by_place(step: _Step) -> list[_Guesses]:
    """A dim is the operands' at its place, counted from the back as broadcasting does or from the front, where more
    sizes agree; else one of its size that is at no other place."""
    if not step.operands:
        return [[step.known.counted(seen) for seen in result] for result in step.results]
    return [_placed(step, result) for result in step.results]


def _placed(step: _Step, result: tuple[Seen, ...]) -> _Guesses:
    beside = [_lined_up(shape, result) for shape in step.operands]
    guesses: _Guesses = []
    for i, seen in enumerate(result):
        found = [dims[i] for dims in beside if dims[i] is not None]
        varying = next((dim for dim in found if not isinstance(dim, int)), found[0] if found else None)
        guesses.append(seen[0] if set(seen) == {1} else varying)
    for i, guess in enumerate(guesses):
        if guess is None:
            named = _named(step.operands, result[i])
            guesses[i] = _windowed(step, result, i) if named is None or named in guesses else named
    return guesses


def _lined_up(shape: _Shape, result: tuple[Seen, ...]) -> _Guesses:
    """For each dim of a result, the dim of an operand beside it, if that is as large."""
    rank = len(shape.dims)
    ways = []
    for shift in (rank - len(result), 0):
        places = [i + shift for i in range(len(result))]
        fits = [0 <= p < rank and shape.seen[p] == seen for p, seen in zip(places, result, strict=True)]
        ways.append([shape.dims[p] if fit else None for p, fit in zip(places, fits, strict=True)])
    return max(ways, key=lambda way: sum(dim is not None for dim in way))


def _named(shapes: Sequence[_Shape], seen: Seen) -> Dim | None:
    """The varying dim of this size, unless a fixed one has it too."""
    if any(shape.has_fixed(seen) for shape in shapes):
        return None
    return next((d for shape in shapes for d, s in shape.varying() if s == seen), None)


def _windowed(step: _Step, result: tuple[Seen, ...], place: int) -> Dim | None:
    """A size that no operand has, at a place where the first one's varies: as convolutions and pools make it."""
    first = step.operands[0]
    fixed = any(shape.has_fixed(result[place]) for shape in step.operands)
    if fixed or len(first.dims) != len(result) or isinstance(first.dims[place], int):
        return None
    return _OPEN


def _places(*places: Place) -> Callable[[_Step], list[_Guesses]]:
    """The one result's dims are these dims of the operands."""
    return lambda step: [[step.operands[operand].dims[dim] for operand, dim in places]]


def _linear(step: _Step) -> list[_Guesses]:
    return [[*step.operands[0].dims[:-1], *step.operands[1].dims[:-1]]]


def _permute(step: _Step) -> list[_Guesses]:
    order = step.node.args[1]
    assert isinstance(order, tuple)
    return [[step.operands[0].dims[i] for i in order if isinstance(i, int)]]


def _cat(step: _Step) -> list[_Guesses]:
    guesses = _by_place(step)
    rank = len(step.results[0])
    dim = _dim(step.node.args[1], rank)
    guesses[0][dim] = total(shape.dims[dim] for shape in step.operands if len(shape.dims) == rank)
    return guesses


def _expand(step: _Step) -> list[_Guesses]:
    """A dim that was 1 may be as long as anything."""
    return [
        [guess or step.known.dims.get(seen) for guess, seen in zip(_by_place(step)[0], step.results[0], strict=True)]
    ]


def _slice(step: _Step) -> list[_Guesses]:
    guesses = _by_place(step)
    dim = _dim(step.node.args[1], len(step.results[0]))
    start, end = _bounds(step, [])
    guesses[0][dim] = sub(end, start) if start is not None and end is not None and step.node.args[4] == 1 else _OPEN
    return guesses


def _select(step: _Step) -> list[_Guesses]:
    dims: _Guesses = [*step.operands[0].dims]
    del dims[_dim(step.node.args[1], len(dims))]
    return [dims]


def _view(step: _Step) -> list[_Guesses]:
    """Runs of dims with equal products are formed, and in each the factors shared out."""
    source, seen = step.operands[0], step.results[0]
    guesses: _Guesses = [None] * len(seen)
    old = [i for i, s in enumerate(source.seen) if set(s) != {1}]
    new = [i for i, s in enumerate(seen) if set(s) != {1}]
    while old and new:
        left, right = [old.pop(0)], [new.pop(0)]
        while (have := _times(source.seen, left)) != (want := _times(seen, right)):
            grow, rest = (left, old) if have[0] < want[0] else (right, new)
            if not rest:
                return [guesses]
            grow.append(rest.pop(0))
        shared = _shared(product(source.dims[i] for i in left), [seen[i] for i in right], step.known)
        for i, dim in zip(right, shared, strict=True):
            guesses[i] = dim
    return [guesses]


def _times(seen: Sequence[Seen], places: list[int]) -> Seen:
    return tuple(map(math.prod, zip(*(seen[i] for i in places), strict=True)))


def _shared(whole: Dim, seen: list[Seen], known: _Known) -> _Guesses:
    """Dims of these sizes whose product is `whole`: a factor goes to the first as large, else that it divides."""
    dims: list[Dim] = [1] * len(seen)
    rest = list(seen)
    for factor in factors(whole)[0] if len(seen) > 1 else []:
        value = known.value(factor)
        fits = [i for i, s in enumerate(rest) if all(a % b == 0 for a, b in zip(s, value, strict=True))]
        if not fits:
            return [None] * len(seen)
        at = next((i for i in fits if rest[i] == value), fits[0])
        dims[at] = mul(dims[at], factor)
        rest[at] = tuple(a // b for a, b in zip(rest[at], value, strict=True))
    return [whole] if len(seen) == 1 else [mul(dim, s[0]) for dim, s in zip(dims, rest, strict=True)]


def _dim(arg: Arg, rank: int) -> int:
    assert isinstance(arg, int)
    return arg % rank


_RESULTS: dict[str, Callable[[_Step], list[_Guesses]]] = {
    "aten.addmm.default": _places((1, 0), (2, 1)),
    "aten.baddbmm.default": _places((1, 0), (1, 1), (2, 2)),
    "aten.bmm.default": _places((0, 0), (0, 1), (1, 2)),
    "aten.cat.default": _cat,
    "aten.expand.default": _expand,
    "aten.linear.default": _linear,
    "aten.mm.default": _places((0, 0), (1, 1)),
    "aten.permute.default": _permute,
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.view.default": _view,
}


# --- sizes among the arguments -------------------------------------------------------------------


def _by_value(step: _Step, made: list[_Shape]) -> _Guesses:
    """They are the result's dims, if so many and as large, else dims that have their size."""
    if made and list(made[0].seen) == step.sizes:
        return list(made[0].dims)
    if not step.operands:
        return [step.known.counted(seen) for seen in step.sizes]
    return [_named([*step.operands, *made], seen) for seen in step.sizes]


def _bounds(step: _Step, _: list[_Shape]) -> _Guesses:
    """Places in a dim: those nearer to its end are counted from there, as it grows."""
    source = step.operands[0]
    dim = _dim(step.node.args[1], len(source.dims))
    return [_place_in(source.dims[dim], source.seen[dim], seen) for seen in step.sizes]


def _place_in(dim: Dim, length: Seen, place: Seen) -> Dim | None:
    behind = {n - p for n, p in zip(length, place, strict=True)}
    fixed = len(set(place)) == 1
    if not isinstance(dim, int) and len(behind) == 1 and (not fixed or (len(place) == 1 and max(behind) < place[0])):
        return add(dim, -behind.pop())
    return place[0] if fixed else None


_ARGUMENTS: dict[str, Callable[[_Step, list[_Shape]], _Guesses]] = {
    "aten.select.int": _bounds,
    "aten.slice.Tensor": _bounds,
}
