"""Compile a kernel's text and call it on CPU tensors: the whole way that a kernel goes, without the layers above."""

from __future__ import annotations

import atexit
import ctypes
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from msgspec import structs
from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.events import Observer, no_observer
from mlirdev.jit import emit_object, link, resolve_target
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.lower import kernel_context, lower_kernel, to_llvm_ir
from mlirdev.passes.ops import kernel_function
from mlirdev.passes.pipeline_file import PIPELINES
from mlirdev.plan import BufferParam, DimParam, Param, ScalarParam, Signature
from mlirdev.target import Target, load_target
from tests.passes.guarded import guarded, workspace

TORCH_TYPES = {
    torch.float32: DType.f32, torch.float64: DType.f64, torch.float16: DType.f16, torch.bfloat16: DType.bf16,
    torch.int64: DType.i64, torch.int32: DType.i32, torch.int16: DType.i16, torch.int8: DType.i8,
    torch.uint8: DType.u8, torch.bool: DType.i1,
}  # fmt: skip


def _offering_all(target: Target) -> Target:
    """A target whose small kernels, too, say which results may be written over params, to be held to it."""
    text = (PIPELINES / "kernel.yaml").read_text()
    changed = text.replace("options: {least_bytes: 65536}", "options: {least_bytes: 1}")
    assert changed != text
    file = Path(mkdtemp(prefix="mlirdev-test-")) / "kernel.yaml"
    atexit.register(shutil.rmtree, file.parent)
    file.write_text(changed)
    return structs.replace(target, pipelines={**target.pipelines, "kernel": str(file)})


HOST = _offering_all(resolve_target(load_target("host")))


class CompiledKernel:
    """Call it with tensors, floats and ints in the order of the params; results are allocated by `shapes`."""

    def __init__(
        self, text: str, dims: tuple[int, ...] = (), vector_bits: int = 0, observe: Observer = no_observer
    ) -> None:
        target = HOST.with_llvm(vector_bits=vector_bits) if vector_bits else HOST
        self.signature = signature_of(text, dims)
        source = KernelSource("test", "other", text, self.signature)
        lowered = lower_kernel(source, target, observe)
        self.signature = lowered.signature
        self.llvm = to_llvm_ir(lowered.module)
        self.object = emit_object(self.llvm, self.signature, "test", target)
        self._kernel = link({"test": self.object})["test"]
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._kernel.address)
        self.error = (0, 0, 0, 0)

    def __call__(self, *args: Any, results: Sequence[torch.Tensor], threads: int = 1) -> Any:
        assert len(args) == len(self.signature.params)
        assert len(results) == len(self.signature.results)
        memory = [guarded(x) if isinstance(x, torch.Tensor) else x for x in (*args, *results)]
        self._run(memory, threads)
        for result, made in zip(results, memory[len(args) :], strict=True):
            result.copy_(made)
        self._check_in_place(args, results, threads)
        return results[0] if len(results) == 1 else tuple(results)

    def _check_in_place(self, args: Sequence[Any], results: Sequence[torch.Tensor], threads: int) -> None:
        """Run it again for each result that may be written over a param, so written: the bits must be the same."""
        error = self.error
        for result, param in self.signature.in_place:
            if args[param].nbytes != results[result].nbytes or not args[param].nbytes:
                continue
            memory = [guarded(x) if isinstance(x, torch.Tensor) else x for x in (*args, *results)]
            made = memory[len(args) :]
            made[result] = memory[param]
            self._run([*memory[: len(args)], *made], threads)
            assert all(map(_same_bits, made, results)), f"{result} over {param}"
        self.error = error

    def _run(self, memory: Sequence[Any], threads: int) -> None:
        """Call it with these params and results."""
        error = (ctypes.c_int64 * 4)()
        space = workspace(self.signature.scratch_bytes(threads))
        cells = [_scalar(x) for x in (threads, *memory) if not isinstance(x, torch.Tensor)]
        scalars = iter(map(ctypes.addressof, cells))
        pointers = [ctypes.addressof(error), next(scalars), space.data_ptr()]
        pointers += [x.data_ptr() if isinstance(x, torch.Tensor) else next(scalars) for x in memory]
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        self._entry(ctypes.addressof(packed))
        self.error = tuple(error)


def _scalar(value: float | int) -> Any:
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


def signature_of(text: str, dims: tuple[int, ...]) -> Signature:
    """The signature that a kernel's types say; `dims` as in Signature."""
    with kernel_context(), ir.Location.unknown():
        function = kernel_function(ir.Module.parse(text))
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        params = tuple(_param(t) for t in kind.inputs)
        results = tuple(_buffer(t) for t in kind.results)
    return Signature(params, results, dims)


def _param(type_: Any) -> Param:
    if isinstance(type_, ir.RankedTensorType):
        return _buffer(type_)
    if isinstance(type_, ir.IndexType):
        return DimParam()
    return ScalarParam("float" if isinstance(type_, ir.FloatType) else "int")


def _buffer(type_: Any) -> BufferParam:
    shape = tuple(None if d < 0 else d for d in type_.shape)
    return BufferParam(shape, DType(str(type_.element_type)))
