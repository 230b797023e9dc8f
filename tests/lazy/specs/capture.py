"""What CPU eager does, as specs: runs OpInfo samples (and their backwards) and notes every functional aten call.

A call is (overload, arguments as rules see them, results' specs); equal calls are kept once.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_utils import noncontiguous_like
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mlirdev.lazy.specs import Meta, OutSpec
from mlirdev.lazy.specs.layout import normal

WRAPPED_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


@dataclass(frozen=True)
class Call:
    """One functional call and what CPU eager returned for it."""

    op: str
    args: tuple[Any, ...]
    results: tuple[OutSpec, ...]


def is_functional(op: torch._ops.OpOverload) -> bool:
    """Neither writes to an argument nor returns a view of one."""
    schema = op._schema
    return op.namespace == "aten" and not any(a.alias_info for a in (*schema.arguments, *schema.returns))


def meta_of(tensor: torch.Tensor) -> Meta:
    shape = tuple(tensor.shape)
    return Meta(shape, tensor.dtype, normal(shape, tensor.stride()))


def rule_args(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in schema order, defaults filled in, tensors as Meta."""
    full = []
    for position, argument in enumerate(op._schema.arguments):
        value = args[position] if position < len(args) else kwargs.get(argument.name, argument.default_value)
        full.append(_as_rule_sees(value, str(argument.type) == "Tensor"))
    return tuple(full)


def _as_rule_sees(value: Any, tensor_slot: bool) -> Any:
    if isinstance(value, torch.Tensor):
        return meta_of(value)
    if tensor_slot and type(value) in WRAPPED_DTYPES:
        return Meta((), WRAPPED_DTYPES[type(value)], None, True)
    if isinstance(value, (list, tuple)):
        return tuple(_as_rule_sees(v, False) for v in value)
    return value


def specs_of(result: Any) -> tuple[OutSpec, ...]:
    """Specs of what eager returned; a result that isn't defined has the empty shape (0,)."""
    return tuple(OutSpec(*meta_of(t)[:3]) if isinstance(t, torch.Tensor) else t for t in tree_leaves(result))


@dataclass(frozen=True)
class Refusal:
    """A functional call that CPU eager refuses, and how."""

    op: str
    args: tuple[Any, ...]
    error: Exception


class CaptureRefusals(TorchDispatchMode):
    """Notes the functional aten calls that raise under it."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        seen = rule_args(func, args, kwargs) if is_functional(func) else ()
        try:
            return func(*args, **kwargs)
        except Exception as error:
            if is_functional(func):
                self.refusals.append(Refusal(str(func), seen, error))
            raise


def refusals_of(info: OpInfo) -> list[Refusal]:
    """The calls that an operator's error samples make and eager refuses."""
    capture = CaptureRefusals()
    if info.error_inputs_func is None:
        return []
    for error_input in info.error_inputs("cpu"):
        sample = error_input.sample_input
        with contextlib.suppress(Exception), capture:
            info.op(sample.input, *sample.args, **sample.kwargs)
    return capture.refusals


class Capture(TorchDispatchMode):
    """Notes every functional aten call with CPU tensors under it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[Call, None] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not is_functional(func):
            return func(*args, **kwargs)
        seen = rule_args(func, args, kwargs)  # before the call: CPU kernels may resize what they get
        result = func(*args, **kwargs)
        if any(isinstance(t, torch.Tensor) for t in tree_leaves(result)):
            self.calls[Call(str(func), seen, specs_of(result))] = None
        return result


def noncontiguous(tensor: torch.Tensor) -> torch.Tensor:
    """The same values with every other element of memory skipped."""
    return noncontiguous_like(tensor).requires_grad_(tensor.requires_grad)


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """Dense, with the last two dims swapped in memory."""
    if tensor.dim() < 2:
        return tensor
    return tensor.detach().mT.contiguous().mT.requires_grad_(tensor.requires_grad)


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if tensor.dim() not in formats:
        return tensor
    return tensor.detach().contiguous(memory_format=formats[tensor.dim()]).requires_grad_(tensor.requires_grad)


LAYOUTS = (None, noncontiguous, transposed, channels_last)


def calls_of(info: OpInfo, dtype: torch.dtype, limit: int | None = None) -> Iterable[Call]:
    """The calls that an operator's samples make, in several layouts; its backward's too where it has one."""
    if dtype not in info.supported_dtypes("cpu"):
        return ()
    grad = dtype in info.supported_backward_dtypes("cpu") and info.supports_autograd
    capture = Capture()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = info.sample_inputs("cpu", dtype, requires_grad=grad)
        for sample in itertools.islice(samples, limit):
            for layout in LAYOUTS:
                if layout is None:
                    with capture:
                        _run(info, sample, grad)
                else:
                    # Some samples need the layout that they came with: `view`, `as_strided`.
                    with contextlib.suppress(RuntimeError), capture:
                        _run(info, sample.transform(_on_strided(layout)), grad)
    return capture.calls


def _on_strided(layout: Any) -> Any:
    return lambda value: layout(value) if isinstance(value, torch.Tensor) and value.layout is torch.strided else value


def _run(info: OpInfo, sample: SampleInput, grad: bool) -> None:
    result = info.op(sample.input, *sample.args, **sample.kwargs)
    if not grad:
        return
    roots = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(r) for r in roots])


def all_calls(infos: Iterable[OpInfo], dtype: torch.dtype, limit: int | None = None) -> Iterator[Call]:
    seen: set[Call] = set()
    for info in infos:
        for call in calls_of(info, dtype, limit):
            if call not in seen:
                seen.add(call)
                yield call
