"""CTC loss: lengths given as lists become tensors, so that other lengths are the same graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.graph import Ref
from mlirdev.lazy import views
from mlirdev.lazy.device import upload
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.operands import operand
from mlirdev.lazy.overloads import op
from mlirdev.lazy.record import record
from mlirdev.lazy.specs import losses
from mlirdev.lazy.specs.types import Meta
from mlirdev.lazy.storage import new_tensor
from mlirdev.lazy.trace import Cell

_OPERANDS = tuple(map(Ref, range(4)))


def _uploaded(lengths: Sequence[int]) -> Cell:
    return upload(torch.tensor(lengths, dtype=torch.int64))


def _meta(tensor: Tensor) -> Meta:
    return Meta(tuple(tensor.shape), tensor.dtype, tensor.stride())


@handles("_ctc_loss")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    lengths = tuple(input_lengths), tuple(target_lengths)
    specs = losses.ctc_loss(_meta(log_probs), _meta(targets), *lengths, blank)
    outputs = tuple(layout_of(s.shape, s.dtype) for s in specs)
    entry = views.entry_of("aten._ctc_loss.Tensor", (*_OPERANDS, blank, zero_infinity), outputs)
    cells = [operand(log_probs, entry.op, "log_probs"), operand(targets, entry.op, "targets")]
    loss, alpha = record(entry, [*cells, *map(_uploaded, lengths)])
    return new_tensor(loss), new_tensor(alpha)


@handles("_ctc_loss.Tensor")
def ctc_loss_of_tensors(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *options: int
) -> tuple[Tensor, Tensor]:
    """The longest target decides a shape, so the lengths are read."""
    lengths: list[list[int]] = [input_lengths.tolist(), target_lengths.tolist()]
    loss, alpha = ctc_loss(log_probs, targets, *lengths, *options)
    return loss, alpha


@handles("_ctc_loss_backward")
def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    lengths = _uploaded(input_lengths), _uploaded(target_lengths)
    results = neg_log_likelihood, log_alpha, blank, zero_infinity
    return new_tensor(op("aten._ctc_loss_backward.Tensor", grad, log_probs, targets, *lengths, *results))
