"""A plan run launch by launch in this process's memory, by whoever runs its kernels: slots are bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

from mlirdev.compiler.stages import Front
from mlirdev.graph import TensorSpec
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.plan import BufferParam, Launch, LaunchArg, Param, ScalarArg, SlotArg, evaluate

Scalar = float | int | bool


class PlainPlan:
    """The plan of a front of a graph with fixed sizes, on inputs of which the bytes are given."""

    def __init__(self, front: Front, inputs: Sequence[bytes], scalars: Sequence[Scalar]) -> None:
        self._front = front
        self._scalars = scalars
        self._slots = dict(zip(front.plan.inputs, inputs, strict=True))

    def launches(self) -> Iterator[tuple[Launch, KernelSource, tuple[bytes, ...]]]:
        """Each launch with its kernel and the bytes of its parameters; what it makes must be stored before the next."""
        for launch in self._front.plan.launches:
            assert isinstance(launch, Launch), "a native part's plan launches kernels only"
            source = self._front.kernels[launch.kernel]
            pairs = zip(launch.args, source.signature.params, strict=True)
            yield launch, source, tuple(self._bytes(arg, param) for arg, param in pairs)

    def store(self, launch: Launch, results: tuple[bytes, ...]) -> None:
        """What a launch has made."""
        self._slots.update(zip(launch.results, results, strict=True))

    def outputs(self) -> list[bytes]:
        """The graph's results, when all launches have run; a slot that none writes has no elements."""
        return [self._slots.get(slot, b"") for slot in self._front.plan.outputs]

    def result_specs(self, launch: Launch) -> list[TensorSpec]:
        """The types of what a launch makes."""
        return [TensorSpec(self._front.plan.slots[s].shape, self._front.plan.slots[s].dtype) for s in launch.results]

    def _bytes(self, arg: LaunchArg, param: Param) -> bytes:
        if isinstance(arg, ScalarArg):
            return scalar_bytes(self._front.plan.scalars[arg.index], self._scalars[arg.index])
        if not isinstance(arg, SlotArg):
            return struct.pack("=q", evaluate(arg.dim, ()))
        assert isinstance(param, BufferParam)
        size = count_of(TensorSpec(tuple(d or 0 for d in param.shape), param.dtype)) * param.dtype.itemsize
        return self._slots.get(arg.slot, b"")[arg.offset : arg.offset + size]


def count_of(spec: TensorSpec) -> int:
    """How many elements a tensor of fixed sizes has."""
    return math.prod(dim for dim in spec.shape if isinstance(dim, int))


def sizes_of(specs: Sequence[TensorSpec]) -> tuple[int, ...]:
    """The bytes of tensors of fixed sizes."""
    return tuple(count_of(spec) * spec.dtype.itemsize for spec in specs)


def scalar_bytes(kind: str, value: Scalar) -> bytes:
    """A scalar as kernels read it."""
    return struct.pack("=d", value) if kind == "float" else struct.pack("=q", int(value))
