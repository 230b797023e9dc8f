"""What PyTorch's operator database (OpInfo) offers for an operator and a dtype: calls, and how two answers compare.

calls(op, dtype, …)          a few of its samples, spread over what it has; if wanted, one not contiguous, one in place
Call.on(device)              the same call with its tensors there
difference(answer, wanted)   the first thing that differs, or None
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_leaves, tree_map

OPS: dict[str, OpInfo] = {op.full_name: op for op in op_db}

# Samples that are looked at before some are chosen: a few operators have thousands.
LOOKED_AT = 32
# Absolute and relative tolerance.
TOLERANCE = {
    torch.float16: (2e-2, 2e-2),
    torch.bfloat16: (5e-2, 5e-2),
    torch.float32: (1e-4, 1e-3),
    torch.float64: (1e-7, 1e-6),
    torch.complex64: (1e-4, 1e-3),
    torch.complex128: (1e-7, 1e-6),
}
# What they return is whatever the memory holds.
UNINITIALISED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
    | {"resize_", "resize_as_"}
)
# Their index argument must be on the CPU, whatever the device.
CPU_ARGUMENTS = frozenset({"tensor_split"})


@dataclass(frozen=True)
class Call:
    """One call of an operator, with CPU tensors; `mutates` says that it writes its first argument."""

    function: Callable[..., Any]
    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    differentiable_part: Callable[[Any], Any] | None = None
    mutates: bool = False
    keeps_arguments: bool = False

    def on(self, device: torch.device) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Fresh arguments there; a tensor that is used twice stays one tensor."""
        moved: dict[int, Tensor] = {}

        def move(value: Any) -> Any:
            if isinstance(value, Tensor):
                if id(value) not in moved:
                    moved[id(value)] = fresh(value, device, leaf=not self.mutates)
                return moved[id(value)]
            if value == "cpu" or (isinstance(value, torch.device) and value.type == "cpu"):
                return device
            return value

        rest = (lambda value: value) if self.keeps_arguments else move
        first = tree_map(move, self.input)
        return first, tree_map(rest, self.args), tree_map(rest, self.kwargs)

    def run(self, arguments: tuple[Any, tuple[Any, ...], dict[str, Any]], seed: int = 0, **more: Any) -> Any:
        """The answer from this seed, even where the database's function sets one itself."""
        first, args, kwargs = arguments
        set_seed = torch.manual_seed
        set_seed(seed)
        with mock.patch.object(torch, "manual_seed", lambda given: set_seed(int(given) + 7919 * seed)):
            return self.function(first, *args, **kwargs, **more)

    def is_steady(self, wanted: Any, dtype: torch.dtype) -> bool:
        """Does the CPU give this answer whatever the seed?"""
        answers = (self.run(self.on(torch.device("cpu")), seed) for seed in range(1, 5))
        return all(difference(answer, wanted, dtype) is None for answer in answers)


def fresh(tensor: Tensor, device: torch.device, leaf: bool) -> Tensor:
    """A copy there, with the same strides where no two of its elements share a place."""
    source = tensor.detach()
    if source.layout != torch.strided or torch._debug_has_internal_overlap(source) == 1:
        copy = source.clone().to(device)
    else:
        copy = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype, device=device).copy_(source)
    return copy.requires_grad_() if leaf and tensor.requires_grad else copy


def calls(op: OpInfo, dtype: torch.dtype, count: int, differentiable: bool, variants: bool = False) -> Iterator[Call]:
    """At most `count` calls as they are; with `variants`, then one with gaps between the elements and one in place."""
    samples = spread(op.sample_inputs("cpu", dtype, requires_grad=differentiable), count)
    keeps = op.name in CPU_ARGUMENTS
    for sample in samples:
        yield call_of(op.op, sample, keeps)
    if not samples or not variants:
        return
    last = samples[-1]
    if any(t.layout != torch.strided for t in tensors((last.input, last.args, last.kwargs))):
        return
    yield call_of(op.op, last.noncontiguous(), keeps)
    if op.inplace_variant is not None and not last.broadcasts_input:
        yield Call(op.inplace_variant, last.input, tuple(last.args), dict(last.kwargs), mutates=True)


def spread(samples: Any, count: int) -> list[SampleInput]:
    """The first, the last, and some between of the first LOOKED_AT."""
    seen = list(itertools.islice(samples, LOOKED_AT))
    if len(seen) <= count:
        return seen
    step = (len(seen) - 1) / max(1, count - 1)
    return [seen[round(i * step)] for i in range(count)]


def call_of(function: Callable[..., Any], sample: SampleInput, keeps: bool) -> Call:
    return Call(
        function,
        sample.input,
        tuple(sample.args),
        dict(sample.kwargs),
        sample.output_process_fn_grad,
        keeps_arguments=keeps,
    )


# --- comparing --------------------------------------------------------------------------------------


def tensors(answer: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(answer) if isinstance(leaf, Tensor)]


def difference(answer: Any, wanted: Any, dtype: torch.dtype, values: bool = True) -> str | None:
    """How the device's answer differs from the CPU's; without `values`, in shapes, dtypes and strides only."""
    return _difference(
        answer, wanted, lambda a, b: _kind(a, b) or _strides(a, b) or (_value(a, b, dtype, 1) if values else None)
    )


def gradient_difference(answer: Any, wanted: Any, dtype: torch.dtype) -> str | None:
    """The same of gradients, whose strides autograd leaves to its formulas, and whose rounding adds up."""
    return _difference(answer, wanted, lambda a, b: _kind(a, b) or _value(a, b, dtype, 5))


def _difference(answer: Any, wanted: Any, of_tensors: Callable[[Tensor, Tensor], str | None]) -> str | None:
    ours, theirs = tree_leaves(answer), tree_leaves(wanted)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            found = of_tensors(a, b)
        else:
            found = None if a == b or (a != a and b != b) else f"{a!r}, not {b!r}"
        if found is not None:
            return f"result {place}: {found}"
    return None


def _kind(ours: Tensor, theirs: Tensor) -> str | None:
    for what in ("shape", "dtype", "layout", "requires_grad"):
        if getattr(ours, what) != getattr(theirs, what):
            return f"{what} {getattr(ours, what)}, not {getattr(theirs, what)}"
    return None


def _strides(ours: Tensor, theirs: Tensor) -> str | None:
    """Of dims of size 1, and of tensors without elements, they mean nothing."""
    if theirs.layout != torch.strided or not theirs.numel():
        return None
    pairs = zip(theirs.shape, ours.stride(), theirs.stride(), strict=True)
    same = all(size == 1 or a == b for size, a, b in pairs)
    return None if same else f"stride {ours.stride()}, not {theirs.stride()}"


def _value(ours: Tensor, theirs: Tensor, dtype: torch.dtype, scale: float) -> str | None:
    exact = not (theirs.dtype.is_floating_point or theirs.dtype.is_complex)
    allowed = (TOLERANCE.get(kind, (0, 0)) for kind in (theirs.dtype, dtype))
    absolute, relative = (0, 0) if exact else map(max, *allowed)
    try:
        torch.testing.assert_close(
            ours.detach().cpu().resolve_conj().resolve_neg(),
            theirs.detach().resolve_conj().resolve_neg(),
            atol=absolute * scale,
            rtol=relative * scale,
            equal_nan=True,
        )
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def cotangents(outputs: Sequence[Tensor]) -> list[Tensor]:
    """What to start the backward from: on the CPU, the same for every device."""
    torch.manual_seed(100)
    return [torch.randn(o.shape, dtype=o.dtype) for o in outputs]
