"""IR of any stage taken on as plainly as can be, and run on given inputs, by a worker, which may die of it.

torch, linalg   the rest of torch-mlir's passes ─┐
dispatch, kernel, llvm ──────────────────────────┴─► passes/plain.py ─► LLVM IR ─┐
ll ──────────────────────────────────────────────────────────────────────────────┴─► object, unoptimised ─► results
asm, obj ───────────────────────────────────────────────────────────────────────────► object ─► results
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlirdev.compiler import stages
from mlirdev.errors import LoweringError
from mlirdev.explore.plain_plan import PlainPlan, Scalar, sizes_of
from mlirdev.graph import Graph
from mlirdev.plan import BUFFER_ALIGNMENT, ERROR_WORD_BYTES, Signature
from mlirdev.target import Target

_SYMBOL = "entry"


@dataclass(frozen=True)
class Ran:
    """What a run made: each result's bytes, and the error word's numbers, all zero when all was well."""

    results: tuple[bytes, ...]
    error: tuple[int, ...]


@dataclass(frozen=True)
class TailJob:
    """IR of `stage` with the passes `done` behind it; `rest` is the text of those of torch-mlir's that are still to
    come. `params` are the bytes of the signature's params in order, `results` the sizes of its results in bytes. `ll`
    and what follows define `symbol`."""

    text: str | bytes
    stage: str
    signature: Signature
    params: tuple[bytes, ...]
    results: tuple[int, ...]
    target: Target
    done: frozenset[str] = frozenset()
    rest: str = ""
    symbol: str = _SYMBOL
    name: str = "tail"

    def run(self) -> Ran:
        """Lower, link and run it. Raises PassError."""
        stages.load()
        from mlirdev.jit import link, resolve_target
        from mlirdev.jit.target import ask_for_tiles

        ask_for_tiles()  # a target that was resolved elsewhere may want them
        target = resolve_target(self.target)
        symbol = self.symbol if self.stage in ("ll", "asm", "obj") else _SYMBOL
        signature, code = self._object(target)
        kernel = link({symbol: code})[symbol]  # owns the machine code
        return _call(kernel.address, signature, self.params, self.results)

    def _object(self, target: Target) -> tuple[Signature, bytes]:
        from mlirdev.jit.assemble import assemble
        from mlirdev.jit.emit import emit_plainly
        from mlirdev.passes.plain import lower_plainly

        if isinstance(self.text, bytes):
            return self.signature, self.text
        if self.stage == "asm":
            return self.signature, assemble(self.text, target)
        if self.stage == "ll":
            return self.signature, emit_plainly(self.text, target)
        plain = lower_plainly(self._on_tensors(target), self.done, target)
        signature = replace(self.signature, workspace=plain.workspace, thread_workspace=plain.thread_workspace)
        return signature, emit_plainly(plain.text, target, signature, _SYMBOL)

    def _on_tensors(self, target: Target) -> str:
        """The text, with what torch-mlir has still to do of it done."""
        from mlirdev.importer import to_linalg
        from mlirdev.passes.texts import transform_text

        assert isinstance(self.text, str)
        passes = [self.rest, to_linalg()] if self.stage == "torch" else [self.rest]
        pipeline = ",".join(filter(None, passes))
        return transform_text(self.text, f"builtin.module({pipeline})", target) if pipeline else self.text


@dataclass(frozen=True)
class WholeJob:
    """A graph of fixed sizes compiled as it would be for a program, and run: the bytes of the outputs."""

    graph: Graph
    target: Target
    inputs: tuple[bytes, ...]
    scalars: tuple[Scalar, ...]
    name: str = "whole"

    def run(self) -> tuple[bytes, ...]:
        """Raises LoweringError, PassError."""
        front = stages.front(self.graph, self.target)
        if isinstance(front, stages.Refused):
            raise LoweringError(tuple(front.reasons), "; ".join(dict.fromkeys(front.reasons.values())))
        plan = PlainPlan(front, self.inputs, self.scalars)
        kernels = {key: stages.back(source, key, self.target) for key, source in front.kernels.items()}
        for launch, source, params in plan.launches():
            back, symbol = kernels[source.key], stages.entry_symbol(source.key)
            sizes = sizes_of(plan.result_specs(launch))
            job = TailJob(back.code, "obj", back.signature, params, sizes, self.target, symbol=symbol)
            plan.store(launch, job.run().results)
        return tuple(plan.outputs())


def _call(address: int, signature: Signature, params: Sequence[bytes], results: Sequence[int]) -> Ran:
    """Run a kernel on one thread."""
    error = _memory(bytes(ERROR_WORD_BYTES))
    threads = _memory((1).to_bytes(8, "little"))
    scratch = _memory(bytes(signature.scratch_bytes(1)))
    given = [_memory(data) for data in params]
    made = [_memory(bytes(size)) for size in results]
    pointers = [array.ctypes.data for array in (error, threads, scratch, *given, *made)]
    packed = (ctypes.c_void_p * len(pointers))(*pointers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(packed))
    return Ran(tuple(array.tobytes() for array in made), tuple(int(n) for n in error.view(np.int64)))


def _memory(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A copy that lies as kernels want it."""
    memory = np.zeros(len(data) + BUFFER_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % BUFFER_ALIGNMENT
    placed = memory[start : start + len(data)]
    placed[:] = np.frombuffer(data, np.uint8)
    return placed
