"""One kernel, from its source to LLVM IR text.

KernelSource ─ the target's kernel pipeline ─► loops on buffers ─ its llvm pipeline ─► LLVM dialect ─► text
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from torch_mlir import ir
from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir
from torch_mlir.dialects import irdl
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.passmanager import PassManager

from mlirdev.compile_time import spent
from mlirdev.dialect import IRDL
from mlirdev.errors import PassError
from mlirdev.events import Observer, no_observer
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.ops import kernel_function, walk
from mlirdev.passes.runner import run_pipeline
from mlirdev.passes.sizes import DIMS
from mlirdev.plan import IN_PLACE, THREAD_WORKSPACE_BYTES, WORKSPACE_BYTES, Signature
from mlirdev.target import Target


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel in the LLVM dialect, and how it is called: the source's signature, with what its passes found out."""

    module: ir.Module
    signature: Signature


@lru_cache
def kernel_context() -> ir.Context:
    """The process's context for kernels: one costs 13 ms to make."""
    context = ir.Context()
    context.enable_multithreading(False)
    torch_dialect.register_dialect(context)
    with context, ir.Location.unknown():
        # Loads tm_tensor, which has no Python registration of its own.
        PassManager.parse("builtin.module(func.func(convert-torch-to-tmtensor))").run(ir.Module.create().operation)
        irdl.load_dialects(ir.Module.parse(IRDL))
    return context


def lower_kernel(source: KernelSource, target: Target, observe: Observer = no_observer) -> Lowered:
    """Lower a kernel to the LLVM dialect, in the convention that jit/ expects. Raises PassError."""
    with kernel_context(), ir.Location.unknown():
        with spent("kernel passes"):
            module = parse(source.text)
            if source.signature.dims:
                dims = ir.DenseI64ArrayAttr.get(list(source.signature.dims))
                kernel_function(module).attributes[DIMS] = dims
            run_pipeline(module, target.pipeline("kernel"), target, observe, stage="kernel")
        signature = lowered_signature(source.signature, module)
        with spent("translation"):
            run_pipeline(module, target.pipeline("llvm"), target, observe, stage="llvm")
    return Lowered(module, signature)


def lowered_signature(source: Signature, module: ir.Module) -> Signature:
    """The source's, once the kernel pipeline is through: with the scratch memory that the kernel wants, and its results
    that may be written over params."""
    attributes = module.operation.attributes
    names = (WORKSPACE_BYTES, THREAD_WORKSPACE_BYTES)
    workspace, thread_workspace = (ir.IntegerAttr(attributes[name]).value for name in names)
    places = list(ir.DenseI64ArrayAttr(attributes[IN_PLACE])) if IN_PLACE in attributes else []
    first = len(source.params)
    in_place = tuple((result - first, param) for result, param in zip(places[::2], places[1::2], strict=True))
    return replace(source, workspace=workspace, thread_workspace=thread_workspace, in_place=in_place)


def parse(text: str) -> ir.Module:
    """The module of this text, verified. Raises PassError."""
    try:
        module = ir.Module.parse(text)
    except ir.MLIRError as error:
        raise PassError("kernel", "parse", str(error)) from error
    _locate_bodies(module)
    return module


def _locate_bodies(module: ir.Module) -> None:
    """Let ops in the body of a named linalg op have its location: the body isn't printed, so the text has none."""
    unknown = ir.Location.unknown(module.context)
    for op in walk(module):
        parent = op.parent
        if parent is not None and op.location == unknown and parent.name.startswith("linalg."):
            op.location = parent.location


def to_llvm_ir(module: ir.Module) -> str:
    """LLVM IR text of a module in the LLVM dialect; raises PassError for anything else, on which MLIR would abort."""
    if not module.operation.verify():
        raise PassError("ll", "translate", "the module isn't valid IR")
    foreign = sorted({name for name in _op_names(module) if not name.startswith(("llvm.", "builtin.module"))})
    if foreign:
        raise PassError("ll", "translate", f"only llvm.* can be translated, but there is: {', '.join(foreign)}")
    with module.context:
        return str(translate_module_to_llvmir(module.operation))


def _op_names(module: ir.Module) -> set[str]:
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.add(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names
