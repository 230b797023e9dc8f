"""A graph as a callable: compiled for each kind of arguments that comes, when it comes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from torch import Tensor, fx

from mlirdev import compiler
from mlirdev.dynamo import frozen as freezing
from mlirdev.dynamo.arguments import look_at
from mlirdev.dynamo.pieces import runs_as_called, split, take_over_checkpoints
from mlirdev.dynamo.replay import NeedsPieceError, replay
from mlirdev.dynamo.sizes import other_sizes
from mlirdev.dynamo.variant import Variant
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
        self._known = freezing.fold(graph, freezing.of_placeholders(graph, frozen)) if frozen else {}
        self._differentiated = differentiated
        self._variants: dict[Hashable, Variant] = {}
        self._pieces: Callable[..., Any] | None = None
        take_over_checkpoints(graph.graph)
        as_called = [node.name for node in graph.graph.nodes if runs_as_called(node)]
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
        given = tuple(args)
        args.clear()
        return self._pieces(*given)

    def _compile(self, signatures: Sequence[Hashable]) -> Variant | None:
        """The variant for such arguments; None if the graph had to be split."""
        try:
            replayed = replay(self._graph, signatures, self._known)
            graph = replayed.cut.graph
            if not graph.nodes:
                return Variant(replayed, None, ())
            others = None if self._variants else other_sizes(self._graph, signatures)
            like = None if others is None else replay(self._graph, others, self._known).cut.graph
        except NeedsPieceError as error:
            self._split([error.node])
            return None
        where = replayed.lines.where(replayed.cut.nodes[0]) or source_line(here())
        executable, syms = compiler.executable_for(graph, where, like)
        return Variant(replayed, executable, syms)

    def _split(self, as_called: Sequence[str]) -> None:
        self._pieces = split(self._graph, as_called, Program)
