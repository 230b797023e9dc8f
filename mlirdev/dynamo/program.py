"""A graph as a callable: compiled for each kind of arguments that comes, when it comes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, fx

from mlirdev import compiler
from mlirdev.dynamo import frozen as freezing
from mlirdev.dynamo.arguments import look_at
from mlirdev.dynamo.pieces import run_as_called, split, take_over_checkpoints
from mlirdev.dynamo.replay import NeedsPieceError, replay
from mlirdev.dynamo.sizes import other_sizes
from mlirdev.dynamo.variant import Variant
from mlirdev.graph import Graph
from mlirdev.lazy.lines import here, note, source_line
from mlirdev.lazy.trace import current_stream, recorder
from mlirdev.options import options


class Program:
    """Call it with a list of arguments, which is emptied; the results in a list. `frozen` are Dynamo's inputs that
    are constants; with `differentiated`, it is called by the autograd node that it is the forward of."""

    def __init__(
        self, graph: fx.GraphModule, frozen: Mapping[int, Tensor] | None = None, differentiated: bool = False
    ) -> None:
        self._graph = graph
        self._frozen = freezing.of_placeholders(graph, frozen) if frozen else {}
        self._known = freezing.fold(graph, self._frozen) if frozen else {}
        self._differentiated = differentiated
        self._variants: dict[Hashable, Variant] = {}
        self._pieces: Callable[..., Any] | None = None
        take_over_checkpoints(graph.graph)
        as_called = run_as_called(graph.graph)
        if as_called:
            self._split(as_called)

    def __call__(self, args: list[Any]) -> Any:
        if self._pieces is not None:
            return self._call_pieces(args)
        signatures, cells = look_at(args)
        key = signatures, options.code
        variant = self._variants.get(key)
        if variant is None:
            variant = self._compile(signatures)
            if variant is None:
                return self._call_pieces(args)
            self._variants[key] = variant
        if self._differentiated and current_stream() is not recorder.default_stream:
            note(None, 0, current_stream())
        results = variant.run(args, cells)
        args.clear()
        return results

    def _call_pieces(self, args: list[Any]) -> Any:
        assert self._pieces is not None
        names = [node.name for node in self._graph.graph.nodes if node.op == "placeholder"]
        given = [self._frozen.get(name, value) for name, value in zip(names, args, strict=True)]
        args.clear()
        return self._pieces(*given)

    def _compile(self, signatures: Sequence[Hashable]) -> Variant | None:
        """The variant for such arguments; None if the graph had to be split."""
        try:
            replayed = replay(self._graph, signatures, self._known)
            graph = replayed.cut.graph
            if not graph.nodes:
                return Variant(replayed, None, ())
        except NeedsPieceError as error:
            self._split([error.node])
            return None
        where = replayed.lines.where(replayed.cut.nodes[0]) or source_line(here())
        other = None if self._variants else self._for_other_sizes(signatures)
        executable, syms = compiler.executable_for(graph, where, other)
        return Variant(replayed, executable, syms)

    def _for_other_sizes(self, signatures: Sequence[Hashable]) -> Graph | None:
        """What the program is for other sizes that it is meant for, if it is meant for any."""
        others = other_sizes(self._graph, signatures)
        if others is None:
            return None
        try:
            return replay(self._graph, others, self._known).cut.graph
        except (RuntimeError, ValueError, IndexError):
            return None  # nobody has asked for these sizes, and not all that a graph needs of sizes is in its guards

    def _split(self, as_called: Sequence[str]) -> None:
        self._pieces = split(self._graph, as_called, partial(Program, differentiated=self._differentiated))
