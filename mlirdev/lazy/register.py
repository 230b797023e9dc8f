"""Registration with PyTorch's dispatcher: every overload that isn't composite or a pure view.

ATen's explicitly, one by one: a fallback for the whole key never sees structured functional ops, whose
composite kernels call `empty` and the out= overload instead. It is there for ops of other libraries.
"""

from __future__ import annotations

import torch

from mlirdev.errors import UnsupportedError
from mlirdev.lazy import composites
from mlirdev.lazy.dispatch import Handler, Op, functional, mutable
from mlirdev.lazy.fallback import run_on_cpu
from mlirdev.lazy.handlers import COMPOSITES, HANDLERS
from mlirdev.lazy.overloads import draws_numbers

_KEY = "PrivateUse1"
# Tensors of these kinds don't exist here; PyTorch makes some of them around ours all the same.
_LAYOUTS = ("Sparse", "SparseCsr", "NestedTensor", "Quantized")
_libraries: list[torch.library.Library] = []


def register_all() -> None:
    """Register everything. Call once."""
    assert composites, "importing them fills HANDLERS"
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    _libraries.append(library)
    for name, handler in HANDLERS.items():
        library.impl(name, handler, _KEY)  # type: ignore[no-untyped-call]
    for name, composite in COMPOSITES.items():
        for key in (_KEY, f"Autograd{_KEY}"):
            library.impl(name, composite, key)  # type: ignore[no-untyped-call]
    for full_name in torch._C._dispatch_get_all_op_names():
        name = full_name.removeprefix("aten::")
        if name == full_name or name in HANDLERS or name in COMPOSITES:
            continue
        handler_of_op = _handler(full_name)
        if handler_of_op is not None:
            library.impl(name, handler_of_op, _KEY)  # type: ignore[no-untyped-call]
    rest = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    rest.fallback(_unknown, _KEY)  # type: ignore[no-untyped-call]
    for layout in _LAYOUTS:
        rest.fallback(_of_another_layout, layout + _KEY)  # type: ignore[no-untyped-call]
    _libraries.append(rest)


def _unknown(op: Op, *args: object, **kwargs: object) -> object:
    """An op without a kernel for the device: a user's own runs on the CPU."""
    if op.namespace == "aten":
        raise UnsupportedError(f"{op} isn't supported on device mlirdev; move its operands to the CPU")
    return run_on_cpu(op, args, kwargs, "no_lowering")


def _of_another_layout(op: Op, *args: object, **kwargs: object) -> object:
    raise UnsupportedError(f"{op}: device mlirdev has no sparse, nested or quantized tensors; make them on the CPU")


# Families that PyTorch reaches only on layouts or backends of their own, or decomposes better itself (_foreach).
_LEFT_OUT = ("_foreach", "sparse_", "_sparse", "_nested", "quantize", "_fused")
_LEFT_OUT_PARTS = ("mkldnn", "cudnn", "miopen")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What PyTorch does right on top of the rest, or what isn't for an out-of-tree device.
_LEFT_ALONE = _words("""
detach_ requires_grad_ resize_as_ rename_ retain_grad set_data item lift lift_fresh _lazy_clone is_same_size
record_stream is_pinned _pin_memory new_empty new_empty_strided empty_like _has_compatible_shallow_copy_type
_fw_primal _make_dual unsafe_split.Tensor _convolution argsort argsort.stable
rand rand.generator randn randn.generator randint randint.generator randint.low randint.low_generator rand_like
randn_like randint_like randint_like.low_dtype randint_like.Tensor rand_like.generator randn_like.generator
randint_like.generator randint_like.low_generator_dtype bernoulli bernoulli.Tensor normal.float_float allclose
_assert_tensor_metadata _is_all_true _is_any_true rand.out rand.generator_out randint.out randint.generator_out
randint.low_out randint.low_generator_out normal.float_float_out
""")
# Composite, but better recorded as one node: their own derivatives come with them.
_AS_ONE = _words("aten::linear")
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key


def _handler(full_name: str) -> Handler | None:
    """The handler of an overload, or None where PyTorch's own way is right."""
    if (
        _has_kernel(full_name, "CompositeImplicitAutograd")
        and not _has_kernel(full_name, "CPU")
        and full_name not in _AS_ONE
    ):
        return None
    name = full_name.removeprefix("aten::")
    if name in _LEFT_ALONE:
        return None
    base, _, overload = name.partition(".")
    if base.startswith(_LEFT_OUT) or any(part in base for part in _LEFT_OUT_PARTS):
        return None
    op = _find(base, overload or "default")
    if op is None:
        return None
    schema = op._schema
    if torch.Tag.inplace_view in op.tags:
        return None
    if schema.is_mutable:
        return mutable(op, functional_of)
    if any(r.alias_info for r in schema.returns):
        return None
    if draws_numbers(op):
        return _on_cpu(op)
    if not any("Tensor" in str(r.type) for r in schema.returns):
        return _on_cpu(op)
    return functional(op)


def _find(base: str, overload: str) -> Op | None:
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload, None)


def _on_cpu(op: Op) -> Handler:
    def handler(*args: object, **kwargs: object) -> object:
        return run_on_cpu(op, args, kwargs, "data_dependent")

    return handler


def functional_of(op: Op) -> Op | None:
    """The functional overload that computes what a mutable one writes, if there is one."""
    name = op._schema.name.removeprefix("aten::")
    written = [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    out = all(a.kwarg_only for a in written)
    packet = getattr(torch.ops.aten, name if out else _without_underscore(name), None)
    if packet is None:
        return None
    candidates = [getattr(packet, overload) for overload in packet.overloads()]
    return next((c for c in candidates if not c._schema.is_mutable and _fits(c, op, out)), None)


def _without_underscore(name: str) -> str:
    if name.startswith("__i"):  # __ilshift__ → __lshift__
        return "__" + name[3:]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


_FACTORY = frozenset({"dtype", "layout", "device", "pin_memory"})


def _fits(candidate: Op, op: Op, out: bool) -> bool:
    """Do the two take the same arguments, but for out= and a factory's options?"""
    ours, theirs = _arguments(candidate), _arguments(op)
    if ours == theirs or not out:
        return ours == theirs
    takes_device = any(name == "device" for name, _ in ours)
    return not takes_device and [a for a in ours if a[0] not in _FACTORY] == [a for a in theirs if a[0] not in _FACTORY]


def _arguments(op: Op) -> list[tuple[str, str]]:
    arguments = op._schema.arguments
    return [(a.name, str(a.type)) for a in arguments if not (a.kwarg_only and a.alias_info and a.alias_info.is_write)]
