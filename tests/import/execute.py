"""Runs imported graphs: linalg → loops → LLVM by upstream passes alone, for tests of import/ only.

Slow code, made quickly, and independent of passes/ and jit/, but for the operations of our own dialect.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import torch
from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

from mlirdev import importer
from mlirdev.dtypes import DType
from mlirdev.graph import Graph
from mlirdev.passes import bufferize_attention, schedule_attention
from mlirdev.plan import evaluate
from mlirdev.target import load_target

PIPELINES = (
    "func.func(refback-generalize-tensor-pad,refback-generalize-tensor-concat)",
    "func.func(linalg-fuse-elementwise-ops,canonicalize,cse)",
    "func.func(tm-tensor-bufferize)",
    "one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map "
    "buffer-alignment=64},refback-mlprogram-bufferize,convert-bufferization-to-memref,canonicalize,cse",
    "func.func(tm-tensor-to-loops,refback-munge-memref-copy,convert-linalg-to-loops,canonicalize,cse)",
    "func.func(lower-affine),convert-scf-to-cf,func.func(math-extend-to-supported-types{target-type=f32},"
    "refback-expand-ops-for-llvm,arith-expand{include-bf16=true},math-expand-ops{ops=fpowi}),expand-strided-metadata,"
    "lower-affine,convert-complex-to-standard,convert-ub-to-llvm,convert-vector-to-llvm,"
    "convert-math-to-llvm{approximate-log1p=false},"
    "convert-math-to-libm,convert-complex-to-libm,convert-complex-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse",
)

TORCH = {
    DType.f64: torch.float64, DType.f32: torch.float32, DType.f16: torch.float16, DType.bf16: torch.bfloat16,
    DType.i64: torch.int64, DType.i32: torch.int32, DType.i16: torch.int16, DType.i8: torch.int8,
    DType.u8: torch.uint8, DType.i1: torch.bool, DType.c64: torch.complex64, DType.c128: torch.complex128,
}  # fmt: skip
OURS = {t: d for d, t in TORCH.items()}


class Program:
    """An imported graph as machine code."""

    def __init__(self, graph: Graph, context: ir.Context, module: ir.Module | None = None) -> None:
        self.graph = graph
        self.module = module or importer.import_graph(graph, context)
        assert self.module.operation.verify()
        self.linalg = str(self.module)
        with context:
            for op in self.module.body.operations:
                if op.operation.name == "func.func":
                    op.operation.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
                    # The inputs aren't ours to write to.
                    kept = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
                    count = len(op.operation.regions[0].blocks[0].arguments)
                    op.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
                        [kept] * len(graph.inputs) + [ir.DictAttr.get({})] * (count - len(graph.inputs))
                    )
            for i, pipeline in enumerate(PIPELINES):
                PassManager.parse(f"builtin.module({pipeline})").run(self.module.operation)
                if i == 2:
                    self._make_writable()
                    bufferize_attention.run(self.module, load_target("host"))
                if i == 3:
                    schedule_attention.run(self.module, load_target("host"))
            self.engine = ExecutionEngine(self.module, opt_level=0)

    def _make_writable(self) -> None:
        def mark(op: ir.Operation) -> ir.WalkResult:
            op.attributes["restrict"] = op.attributes["writable"] = ir.UnitAttr.get()
            return ir.WalkResult.ADVANCE

        self.module.operation.walk(
            lambda op: mark(op) if op.name == "bufferization.to_tensor" else ir.WalkResult.ADVANCE
        )

    def __call__(
        self, inputs: Sequence[torch.Tensor], scalars: Sequence[float] = (), syms: Sequence[int] = ()
    ) -> list[torch.Tensor]:
        keep: list[object] = []
        arguments = []
        for tensor in inputs:
            descriptor = _descriptor(tensor)
            keep += [descriptor, tensor]
            arguments.append(ctypes.pointer(ctypes.pointer(descriptor)))
        for kind, value in zip(self.graph.scalars, scalars, strict=True):
            arguments.append(ctypes.pointer(ctypes.c_double(value) if kind == "float" else ctypes.c_int64(int(value))))
        arguments += [ctypes.pointer(ctypes.c_int64(s)) for s in syms]
        specs = [self.graph.specs[o] for o in self.graph.outputs]
        fields = [(f"r{i}", _descriptor_type(len(s.shape))) for i, s in enumerate(specs)]
        result = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        if specs:
            arguments.insert(0, ctypes.pointer(ctypes.pointer(result)))
        self.engine.invoke("main", *arguments)
        return [_read(getattr(result, f"r{i}"), s, tuple(syms)) for i, s in enumerate(specs)]


def _descriptor_type(rank: int) -> type[ctypes.Structure]:
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type("Descriptor", (ctypes.Structure,), {"_fields_": fields})


def _descriptor(tensor: torch.Tensor) -> ctypes.Structure:
    assert tensor.is_contiguous()
    result = _descriptor_type(tensor.dim())()
    result.allocated = result.aligned = tensor.data_ptr()
    if tensor.dim():
        result.sizes[:] = list(tensor.shape)
        result.strides[:] = list(tensor.stride())
    return result


def _read(descriptor: ctypes.Structure, spec, syms) -> torch.Tensor:
    shape = [evaluate(d, syms) for d in spec.shape]
    if shape:
        assert list(descriptor.sizes) == shape, (list(descriptor.sizes), shape)
    out = torch.empty(shape, dtype=TORCH[spec.dtype])
    if out.numel():
        strides = list(descriptor.strides) if shape else []
        size = out.element_size()
        span = (sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1) * size
        raw = (ctypes.c_char * span).from_address(descriptor.aligned + descriptor.offset * size)
        flat = torch.frombuffer(bytearray(raw), dtype=out.dtype)
        out.copy_(flat.as_strided(shape, strides))
    assert math.prod(shape) == out.numel()
    return out
