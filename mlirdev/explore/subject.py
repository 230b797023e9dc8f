"""What a tool of the explorer works on: a graph or a kernel, with values for its inputs.

It is read from a reproducer, from a dump's folder of a graph or a kernel, or from a file of a graph's text.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mlirdev.compiler import reproducer
from mlirdev.compiler.partition import NativePart, split
from mlirdev.errors import OptionError
from mlirdev.explore.judge import Judge
from mlirdev.explore.plain_plan import Scalar, scalar_bytes
from mlirdev.graph import Graph, TensorSpec
from mlirdev.graph_text import parse_graph
from mlirdev.lazy.reference import bytes_of, seeded, tensor_of
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.plan import BufferParam, DimParam, Param, ScalarParam, Signature
from mlirdev.target import Target

# The sizes that a generalised graph is tried at.
_SIZE = 5


@dataclass(frozen=True)
class Subject:
    """A graph whose sizes are fixed, or a kernel. `inputs` are bytes, one each; `lines` the places of its nodes in the
    user's program, as far as they are known."""

    what: Graph | KernelSource
    target: Target
    name: str
    inputs: tuple[bytes, ...]
    scalars: tuple[Scalar, ...] = ()
    lines: dict[int, str] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        assert isinstance(self.what, Graph)
        return self.what

    @property
    def params(self) -> tuple[bytes, ...]:
        """The bytes of a kernel's parameters: its inputs, or a graph's inputs and scalars."""
        kinds = self.graph.scalars if isinstance(self.what, Graph) else ()
        return (*self.inputs, *(scalar_bytes(k, s) for k, s in zip(kinds, self.scalars, strict=True)))

    @cached_property
    def _judge(self) -> Judge:
        judge = Judge(self.graph, self.scalars)
        for value, (data, spec) in enumerate(zip(self.inputs, self.graph.inputs, strict=True)):
            judge.know(value, tensor_of(data, spec))
        return judge

    def value(self, number: int) -> Any:
        """A value of the graph as PyTorch's CPU ops compute it, a tensor."""
        return self._judge.value(number)

    def wrong_output(self, results: Sequence[bytes]) -> str | None:
        """How the graph's results differ from PyTorch's, if they do: the first that does."""
        for number, data in zip(self.graph.outputs, results, strict=True):
            found = self._judge.difference(number, tensor_of(data, self.graph.specs[number]))
            if found is not None:
                return f"{self._called(number)} is wrong {found}"
        return None

    def _called(self, number: int) -> str:
        """A value in words: the node that makes it."""
        producers = [n for n, first in enumerate(self.graph.first_result) if first <= number]
        if number < len(self.graph.inputs) or not producers:
            return f"%{number}"
        node = producers[-1]
        line = f" ({self.lines[node]})" if node in self.lines else ""
        return f"%{number} of n{node} {self.graph.nodes[node].op}{line}"


def signature_of(graph: Graph) -> Signature:
    """How a whole graph is called as one kernel."""
    inputs: list[Param] = [buffer_of(spec) for spec in graph.inputs]
    scalars: list[Param] = [ScalarParam(kind) for kind in graph.scalars]
    return Signature((*inputs, *scalars), tuple(buffer_of(graph.specs[v]) for v in graph.outputs))


def buffer_of(spec: TensorSpec) -> BufferParam:
    return BufferParam(tuple(dim if isinstance(dim, int) else None for dim in spec.shape), spec.dtype)


# --- reading --------------------------------------------------------------------------------------


def load_subject(path: Path, target: Target) -> Subject:
    """What a path names: a reproducer, a dump's folder of a graph or a kernel, or a file of a graph's text.

    `target` is that of what names none. Raises OptionError.
    """
    if path.is_dir() and reproducer.is_reproducer(path):
        return of_reproducer(reproducer.load(path))
    if path.is_dir():
        return _of_dump(path, target)
    if path.suffix == ".mlir":
        return _kernel(path, path.stem, "other", target)
    return of_graph(parse_graph(path.read_text(), str(path)), target, path.stem)


def load_graph(path: Path, target: Target) -> Subject:
    """The same, where a kernel won't do: of a kernel's reproducer, the graph that it computes."""
    if path.is_dir() and reproducer.is_reproducer(path):
        kept = reproducer.load(path)
        return of_reproducer(kept if kept.part is None else replace(kept, subject=kept.part, part=None))
    return load_subject(path, target)


def of_reproducer(kept: reproducer.Reproducer) -> Subject:
    """The subject of a reproducer; inputs that it doesn't have are made up."""
    if isinstance(kept.subject, KernelSource):
        return Subject(kept.subject, kept.target, kept.name, _seeded_params(kept.subject.signature))
    made = of_graph(kept.subject, kept.target, kept.name, kept.lines)
    return replace(made, inputs=kept.inputs or made.inputs, scalars=kept.scalars or made.scalars)


def of_graph(graph: Graph, target: Target, name: str, lines: dict[int, str] | None = None) -> Subject:
    """A graph with made-up inputs; where sizes are inputs, with some."""
    static = graph.at((_SIZE,) * graph.syms)
    inputs = tuple(bytes_of(seeded(spec, seed)) for seed, spec in enumerate(static.inputs))
    scalars = tuple(0.5 if kind == "float" else 1 for kind in static.scalars)
    return Subject(static, target, name, inputs, scalars, lines or {})


def _of_dump(folder: Path, target: Target) -> Subject:
    recorded = folder / "000-graph-recorded.txt"
    if recorded.exists():
        return of_graph(parse_graph(recorded.read_text(), str(recorded)), target, folder.name)
    kernel = folder / "000-kernel-input.mlir"
    if kernel.exists():
        kind = folder.name.rpartition("-")[0].rpartition("-")[2]
        return _kernel(kernel, folder.name, kind or "other", target)
    raise OptionError(
        f"{folder} is neither a reproducer (no job.json) nor a dump's folder of a graph or kernel "
        "(no 000-graph-recorded.txt, no 000-kernel-input.mlir)"
    )


def _kernel(path: Path, name: str, kind: str, target: Target) -> Subject:
    from mlirdev.passes.texts import kernel_of_text

    source = kernel_of_text(path.read_text(), kind)
    return Subject(source, target, name, _seeded_params(source.signature))


def _seeded_params(signature: Signature) -> tuple[bytes, ...]:
    return tuple(_seeded_param(param, seed) for seed, param in enumerate(signature.params))


def _seeded_param(param: Param, seed: int) -> bytes:
    if isinstance(param, ScalarParam):
        return scalar_bytes(param.kind, 0.5 if param.kind == "float" else 1)
    if isinstance(param, DimParam):
        return struct.pack("=q", _SIZE)
    return bytes_of(seeded(spec_of(param), seed))


def spec_of(param: BufferParam) -> TensorSpec:
    """A kernel's buffer, where its sizes are inputs with the same ones that `_seeded_param` gives."""
    return TensorSpec(tuple(_SIZE if dim is None else dim for dim in param.shape), param.dtype)


# --- parts ----------------------------------------------------------------------------------------


def native_parts(subject: Subject, host: frozenset[int]) -> list[tuple[Subject, tuple[int, ...]]]:
    """What of a graph becomes kernels where the nodes `host` run on the CPU: each with its nodes' positions, and its
    inputs as PyTorch computes them."""
    if not host:
        return [(subject, tuple(range(len(subject.graph.nodes))))]
    native = [part for part in split(subject.graph, host) if isinstance(part, NativePart)]
    return [(_part(subject, part, f"{subject.name}.{i}"), part.nodes) for i, part in enumerate(native)]


def _part(subject: Subject, part: NativePart, name: str) -> Subject:
    inputs = tuple(bytes_of(subject.value(v)) for v in part.inputs)
    lines = {i: subject.lines[node] for i, node in enumerate(part.nodes) if node in subject.lines}
    return Subject(part.graph, subject.target, name, inputs, subject.scalars, lines)
