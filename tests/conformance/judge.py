"""How the device does one operator in one dtype, in a word, and why.

native    right, and everything ran compiled
host      right, with some operator on the CPU by a counted fallback
differs   a value, shape, dtype or stride isn't the CPU's
raises    an error where the CPU has none
(empty)   the CPU has no such thing
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.testing._internal.opinfo.core import OpInfo

import mlirdev

from .samples import UNINITIALISED, Call, calls, cotangents, difference, gradient_difference, tensors

DEVICE = torch.device("mlirdev")
CPU = torch.device("cpu")

# Samples per operator: one shows what a dtype does, more show what the operator's arguments do.
COUNTS = {torch.float32: 2, torch.int64: 2, torch.bool: 2, torch.bfloat16: 2}
# Where the variants of a call (in place, with gaps between elements) are looked at too.
WITH_VARIANTS = torch.float32


def told(error: BaseException | None) -> str:
    """An exception in one line."""
    return "no error" if error is None else f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


class Difference(Exception):
    """The device's answer isn't the CPU's."""


@dataclass
class Verdict:
    """A word for the forward and one for the backward, and the first thing that was wrong or ran on the host."""

    forward: str = ""
    backward: str = ""
    detail: str = ""


def judge(op: OpInfo, dtype: torch.dtype) -> Verdict:
    verdict = Verdict()
    if dtype not in op.supported_dtypes("cpu"):
        return verdict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        variants = dtype is WITH_VARIANTS
        for call in calls(op, dtype, COUNTS.get(dtype, 1), _differentiable(op, dtype), variants):
            _judge_call(op, dtype, call, verdict)
    return verdict


def _differentiable(op: OpInfo, dtype: torch.dtype) -> bool:
    floating = dtype.is_floating_point or dtype.is_complex
    return bool(floating and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))


def _judge_call(op: OpInfo, dtype: torch.dtype, call: Call, verdict: Verdict) -> None:
    """Put the call's outcome into the verdict, where it is worse than what is there."""
    try:
        arguments = call.on(CPU)
        wanted = call.run(arguments)
    except Exception:
        return None  # the CPU itself doesn't do it
    before = _fallbacks()
    try:
        ours = call.on(DEVICE)
        answer = call.run(ours)
        steady = _compare(op, dtype, call, answer, wanted)
        if call.mutates and steady:
            _demand(difference(ours[0], arguments[0], dtype))
        mlirdev.sync()
    except Exception as error:
        return _worsen(verdict, "forward", error)
    _worsen(verdict, "forward", _since(before))
    if steady and not call.mutates:
        _judge_backward(dtype, call, (wanted, arguments), (answer, ours), verdict)
    return None


def _compare(op: OpInfo, dtype: torch.dtype, call: Call, answer: Any, wanted: Any) -> bool:
    """Raise a Difference; whether the values are those of every seed."""
    if op.name in UNINITIALISED:
        _demand(difference(answer, wanted, dtype, values=False))
        return False
    found = difference(answer, wanted, dtype)
    if found is None or call.is_steady(wanted, dtype):
        _demand(found)
        return True
    _demand(difference(answer, wanted, dtype, values=False))
    return False


def _judge_backward(
    dtype: torch.dtype, call: Call, on_cpu: tuple[Any, Any], on_device: tuple[Any, Any], verdict: Verdict
) -> None:
    try:
        wanted = _gradients(call, *on_cpu)
    except Exception:
        return  # the CPU has no gradient for it
    if wanted is None:
        return
    before = _fallbacks()
    try:
        _demand(gradient_difference(_gradients(call, *on_device), wanted, dtype))
        mlirdev.sync()
    except Exception as error:
        _worsen(verdict, "backward", error)
    else:
        _worsen(verdict, "backward", _since(before))


def _gradients(call: Call, answer: Any, arguments: Any) -> list[Tensor | None] | None:
    part = call.differentiable_part
    outputs = [t for t in tensors(part(answer) if part else answer) if t.requires_grad]
    inputs = [t for t in tensors(arguments) if t.requires_grad]
    if not outputs or not inputs:
        return None
    starts = [s.to(o.device) for s, o in zip(cotangents(outputs), outputs, strict=True)]
    return list(torch.autograd.grad(outputs, inputs, starts, allow_unused=True))


def _demand(found: str | None) -> None:
    if found is not None:
        raise Difference(found)


def _fallbacks() -> dict[str, int]:
    return dict(mlirdev.metrics.snapshot()["fallbacks"])


def _since(before: dict[str, int]) -> list[str]:
    return sorted(op for op, count in _fallbacks().items() if count != before.get(op, 0))


_ORDER = ("", "native", "host", "differs", "raises")


def _worsen(verdict: Verdict, direction: str, found: Exception | list[str]) -> None:
    if isinstance(found, Exception):
        word = "differs" if isinstance(found, Difference) else "raises"
        detail = str(found) if word == "differs" else told(found)
    else:
        word, detail = ("host" if found else "native"), " ".join(found)
    if _ORDER.index(word) > _ORDER.index(getattr(verdict, direction)):
        setattr(verdict, direction, word)
        if detail:
            verdict.detail = f"{direction}: {' '.join(detail.split())[:300]}"
