"""The stages on MLIR text instead of modules, for the command line: what `mlirdev opt` and `mlirdev compile` call.

check_pipeline      is there every pass, on an op that it takes?
transform_text      any text ─ pipeline ─► text
kernels_of_text     a whole graph's text (linalg on tensors) ─► its kernels
kernel_of_text      one kernel's text ─► KernelSource
llvm_ir_of_text     LLVM dialect ─► LLVM IR text
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.events import Observer, no_observer
from mlirdev.graph import Graph
from mlirdev.passes.kernel_source import KernelSource, kernel_key
from mlirdev.passes.lower import kernel_context, lowered_signature, parse, to_llvm_ir
from mlirdev.passes.ops import kernel_function
from mlirdev.passes.pipeline import Pipeline
from mlirdev.passes.runner import check_steps, run_pipeline
from mlirdev.passes.sizes import DIMS
from mlirdev.plan import WORKSPACE_BYTES, BufferParam, DimParam, Param, ScalarParam, Signature
from mlirdev.target import Target

_DTYPES = {dtype.builtin: dtype for dtype in reversed(DType)}


def check_pipeline(pipeline: Pipeline) -> None:
    """Raise OptionError, with the step's line, for a pass that nobody has, or not on such an op."""
    with kernel_context():
        check_steps(pipeline.steps)


@dataclass(frozen=True, slots=True)
class Form:
    """How text is read and printed: as the flags of mlir-opt say that have these names."""

    debuginfo: bool = False
    op_generic: bool = False
    local_scope: bool = False
    elide_elements_above: int | None = None
    allow_unregistered_dialect: bool = False

    def printed(self, module: ir.Module) -> str:
        """The module's text in this form."""
        return str(
            module.operation.get_asm(
                enable_debug_info=self.debuginfo,
                print_generic_op_form=self.op_generic,
                use_local_scope=self.local_scope,
                large_elements_limit=self.elide_elements_above,
            )
        )


def transform_text(
    text: str,
    pipeline: str | Pipeline,
    target: Target,
    observe: Observer = no_observer,
    stage: str = "opt",
    form: Form = Form(),
) -> str:
    """The text after a pipeline. Raises OptionError for a wrong pipeline, PassError for what doesn't parse or fails."""
    with kernel_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = form.allow_unregistered_dialect
        try:
            module = parse(text)
            run_pipeline(module, pipeline, target, observe, stage=stage)
            return form.printed(module)
        finally:
            context.allow_unregistered_dialects = False


def changed_text(text: str, change: Callable[[ir.Module], None]) -> str:
    """The text, with locations, of what `change` makes of the module in place."""
    with kernel_context(), ir.Location.unknown():
        module = parse(text)
        change(module)
        return Form(debuginfo=True).printed(module)


def kernels_of_text(text: str, target: Target, graph: Graph | None = None) -> tuple[KernelSource, ...]:
    """The kernels that the graph in this text is formed into, in order of key. `graph` is what the text was made of:
    where sizes are run-time it says which are equal."""
    from mlirdev.passes.forming import form_groups

    with kernel_context(), ir.Location.unknown():
        formed = form_groups(parse(text), target, graph)
    return tuple(source for _, source in sorted(formed.kernels.items()))


def kernel_of_text(text: str, kind: str = "other") -> KernelSource:
    """A kernel from its text. Its signature is read off @kernel; which of its run-time sizes is which says the
    attribute that a dumped kernel has. Without it, a kernel with run-time sizes can be lowered, but not called."""
    with kernel_context(), ir.Location.unknown():
        module = parse(text)
        function = _kernel(module)
        type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        dims = tuple(ir.DenseI64ArrayAttr(function.attributes[DIMS])) if DIMS in function.attributes else ()
        signature = Signature(tuple(map(_param, type_.inputs)), tuple(map(_buffer, type_.results)), dims)
        if dims:  # the signature has them: the key is that of the kernel before
            del function.attributes[DIMS]
        plain = str(module.operation.get_asm(enable_debug_info=False))
    return KernelSource(kernel_key(plain, signature), kind, text, signature)


def llvm_ir_of_text(text: str) -> str:
    """LLVM IR text of a module in the LLVM dialect."""
    with kernel_context(), ir.Location.unknown():
        return to_llvm_ir(parse(text))


def signature_of_lowered(text: str, source: Signature) -> Signature | None:
    """How a kernel in this text, which the kernel pipeline has made, is called; `source` is its signature before. None
    where the text doesn't say how much scratch memory it wants."""
    with kernel_context(), ir.Location.unknown():
        module = parse(text)
        return lowered_signature(source, module) if WORKSPACE_BYTES in module.operation.attributes else None


def _kernel(module: ir.Module) -> ir.Operation:
    try:
        return kernel_function(module)
    except ValueError as error:
        raise PassError("kernel", "parse", str(error)) from error


def _param(type_: ir.Type) -> Param:
    if isinstance(type_, ir.RankedTensorType):
        return _buffer(type_)
    if isinstance(type_, ir.IndexType):
        return DimParam()
    return ScalarParam("float" if str(type_) == "f64" else "int")


def _buffer(type_: ir.Type) -> BufferParam:
    if not isinstance(type_, ir.RankedTensorType):
        raise PassError("kernel", "parse", f"@kernel has a {type_}; tensors, f64, i64 and index are what it may have")
    shape = tuple(None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank))
    return BufferParam(shape, _DTYPES[str(type_.element_type)])
