"""Compile a kernel's text and call it on CPU tensors: the whole way that a kernel goes, without the layers above."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.events import Observer, no_observer
from mlirdev.jit import emit_object, link, resolve_target
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.lower import kernel_context, lower_kernel, to_llvm_ir
from mlirdev.passes.ops import kernel_function
from mlirdev.plan import BufferParam, DimParam, Param, ScalarParam, Signature
from mlirdev.target import load_target

TORCH_TYPES = {
    torch.float32: DType.f32, torch.float64: DType.f64, torch.float16: DType.f16, torch.bfloat16: DType.bf16,
    torch.int64: DType.i64, torch.int32: DType.i32, torch.int16: DType.i16, torch.int8: DType.i8,
    torch.uint8: DType.u8, torch.bool: DType.i1,
}  # fmt: skip
HOST = resolve_target(load_target("host"))


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
        call, _keep = self.bind(*args, results=results, threads=threads)
        call()
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, *args: Any, results: Sequence[torch.Tensor], threads: int = 1) -> Any:
        """A function of no arguments that runs the kernel, and what must stay alive for it."""
        assert len(args) == len(self.signature.params)
        assert len(results) == len(self.signature.results)
        keep: list[Any] = []
        error = (ctypes.c_int64 * 4)()
        workspace = torch.empty(self.signature.scratch_bytes(threads) + 64, dtype=torch.uint8)
        pointers = [ctypes.addressof(error), _scalar(threads, keep), -(-workspace.data_ptr() // 64) * 64]
        for arg in (*args, *results):
            if isinstance(arg, torch.Tensor):
                assert arg.is_contiguous()
                keep.append(arg)
                pointers.append(arg.data_ptr())
            else:
                pointers.append(_scalar(arg, keep))
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        keep += [error, workspace, packed]
        address = ctypes.addressof(packed)

        def call() -> None:
            self._entry(address)
            self.error = tuple(error)

        return call, keep


def _scalar(value: float | int, keep: list[Any]) -> int:
    cell = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
    keep.append(cell)
    return ctypes.addressof(cell)


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
