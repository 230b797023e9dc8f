"""Compile a formed plan's kernels and run it on CPU tensors, kernel by kernel; and check that a plan is sound."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from mlirdev.dtypes import DType
from mlirdev.jit import emit_object, link
from mlirdev.passes import Formed, lower_kernel, to_llvm_ir
from mlirdev.plan import DimArg, Launch, Plan, ScalarArg, Slot, SlotArg, evaluate
from tests.passes.guarded import guarded, workspace
from tests.passes.kernels import HOST, TORCH_TYPES

DTYPES = {dtype: torch_type for torch_type, dtype in TORCH_TYPES.items()}


class PlanExecutor:
    """Runs a formed plan: `executor(inputs, scalars, syms)` gives the outputs in the slots' own shapes."""

    def __init__(self, formed: Formed) -> None:
        self.plan = formed.plan
        self.signatures = {}
        objects = {}
        for key, source in formed.kernels.items():
            lowered = lower_kernel(source, HOST)
            self.signatures[key] = lowered.signature
            objects[f"k{key}"] = emit_object(to_llvm_ir(lowered.module), self.signatures[key], f"k{key}", HOST)
        self._kernels = link(objects)

    def __call__(
        self, inputs: Sequence[torch.Tensor], scalars: Sequence[float] = (), syms: tuple[int, ...] = ()
    ) -> list[torch.Tensor]:
        slots: dict[int, torch.Tensor] = dict(zip(self.plan.inputs, map(guarded, inputs), strict=True))
        for launch in self.plan.launches:
            assert isinstance(launch, Launch)
            for result in launch.results:
                slots[result] = _allocate(self.plan.slots[result], syms)
            self._run(launch, slots, scalars, syms)
        return [slots[o] if o in slots else _allocate(self.plan.slots[o], syms) for o in self.plan.outputs]

    def _run(
        self, launch: Launch, slots: dict[int, torch.Tensor], scalars: Sequence[float], syms: tuple[int, ...]
    ) -> None:
        signature = self.signatures[launch.kernel]
        error = (ctypes.c_int64 * 4)()
        space = workspace(signature.scratch_bytes(1))
        keep: list[Any] = [ctypes.c_int64(1)]
        pointers = [ctypes.addressof(error), ctypes.addressof(keep[0]), space.data_ptr()]
        for arg in launch.args:
            if isinstance(arg, SlotArg):
                pointers.append(slots[arg.slot].data_ptr() + arg.offset)
                continue
            value = scalars[arg.index] if isinstance(arg, ScalarArg) else evaluate(arg.dim, syms)
            keep.append(ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value))
            pointers.append(ctypes.addressof(keep[-1]))
        pointers += [slots[result].data_ptr() for result in launch.results]
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._kernels[f"k{launch.kernel}"].address)(ctypes.addressof(packed))
        assert tuple(error) == (0, 0, 0, 0)


def _allocate(slot: Slot, syms: tuple[int, ...]) -> torch.Tensor:
    """Filled with a pattern, so that what a kernel doesn't write is seen."""
    tensor = torch.empty([evaluate(d, syms) for d in slot.shape], dtype=DTYPES[DType(slot.dtype)])
    tensor.view(torch.uint8).fill_(1) if tensor.dim() and tensor.numel() else None
    return guarded(tensor)


def check_plan(formed: Formed, syms: tuple[int, ...] = ()) -> None:
    """Every slot is written once and before it is read, every output is written, every argument fits its parameter."""
    plan, written = formed.plan, set(formed.plan.inputs)
    for launch in plan.launches:
        assert isinstance(launch, Launch)
        signature = formed.kernels[launch.kernel].signature
        assert len(launch.args) == len(signature.params)
        assert len(launch.results) == len(signature.results)
        assert {a.slot for a in launch.args if isinstance(a, SlotArg)} <= written
        assert written.isdisjoint(launch.results)
        written.update(launch.results)
        _check_sizes(plan, launch, formed, syms)
    empty = {i for i, slot in enumerate(plan.slots) if 0 in slot.shape}
    assert set(plan.outputs) <= written | empty
    assert set(plan.kernels) == set(formed.kernels) == {launch.kernel for launch in plan.launches}  # type: ignore[union-attr]


def _check_sizes(plan: Plan, launch: Launch, formed: Formed, syms: tuple[int, ...]) -> None:
    """A buffer's run-time dims come in the order of Signature.dims, and every buffer is as large as its slot, or a
    piece of it."""
    signature = formed.kernels[launch.kernel].signature
    positions = iter(signature.dims)
    for param, arg in (
        *zip(signature.params, launch.args, strict=True),
        *zip(signature.results, map(SlotArg, launch.results), strict=True),
    ):
        if not isinstance(arg, SlotArg):
            continue
        numel = 1
        for size in param.shape:  # type: ignore[union-attr]
            if size is None:
                dim = launch.args[next(positions)]
                assert isinstance(dim, DimArg)
                size = evaluate(dim.dim, syms)
            numel *= size
        assert arg.offset + numel * param.dtype.itemsize <= plan.slots[arg.slot].nbytes(syms)  # type: ignore[union-attr]
    assert next(positions, None) is None
