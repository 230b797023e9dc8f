"""Losses and their backwards. `reduction`: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import broadcast_all, fail, not_implemented, require, shown, title
from mlirdev.lazy.specs.layout import like_strides, numel
from mlirdev.lazy.specs.pointwise import elementwise
from mlirdev.lazy.specs.promotion import result_dtype
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Shape, Table, rows


def pair(reduction_at: int) -> Row:
    """A loss of (self, target) whose `reduction` is the argument of that number."""

    def rule(*args: Any) -> OutSpec:
        spec = elementwise(args[:2])
        return spec if args[reduction_at] == 0 else OutSpec((), spec.dtype)

    return rule


def pair_backward(grad_output: Meta, self: Meta, target: Meta, *_: Any) -> OutSpec:
    return elementwise((grad_output, self, target))


def huber_loss(self: Meta, target: Meta, reduction: int = 1, delta: float = 1.0) -> OutSpec:
    require(delta > 0, "huber_loss does not support non-positive values for delta.")
    spec = elementwise((self, target))
    return spec if reduction == 0 else OutSpec((), spec.dtype)


def contiguous_backward(grad_output: Meta, self: Meta, target: Meta, *_: Any) -> OutSpec:
    return OutSpec(broadcast_all([grad_output, self, target]), result_dtype((grad_output, self, target)))


def binary_cross_entropy(self: Meta, target: Meta, weight: Meta | None = None, reduction: int = 1) -> OutSpec:
    broadcast_all([self, target] if weight is None else [self, target, weight])
    return OutSpec(self.shape, self.dtype, like_strides(self)) if reduction == 0 else OutSpec((), self.dtype)


def binary_cross_entropy_backward(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def with_logits(
    self: Meta, target: Meta, weight: Meta | None = None, pos_weight: Meta | None = None, reduction: int = 1
) -> OutSpec:
    dtype = result_dtype((self, target))
    if reduction != 0:
        return OutSpec((), dtype)
    return elementwise((self, target), dtype)


def _check_classes(self: Meta, target: Meta, weight: Meta | None) -> None:
    require(0 < len(self.shape) <= 2, "input tensor should be 1D or 2D")
    require(
        len(target.shape) <= 1,
        "0D or 1D target tensor expected, multi-target not supported",
    )
    if len(self.shape) == 2 or target.shape:
        fits = self.shape[:1] == target.shape or len(self.shape) == 1
        require(fits, f"size mismatch (got input: {shown(self.shape)}, target: {shown(target.shape)})")
    _check_weight(self.shape[-1], weight)


def _check_weight(classes: int, weight: Meta | None) -> None:
    require(
        weight is None or weight.shape == (classes,),
        f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
        f"shape: {shown(weight.shape) if weight else ''}",
    )


def _check_index_dtype(target: Meta) -> None:
    if target.dtype not in (torch.int64, torch.uint8):
        fail(f"expected target dtype to be Long or Byte, but got {title(target)}")


def nll_loss(
    self: Meta, target: Meta, weight: Meta | None, reduction: int, ignore_index: int
) -> tuple[OutSpec, OutSpec]:
    _check_classes(self, target, weight)
    _check_index_dtype(target)
    shape: Shape = self.shape[:1] if reduction == 0 and len(self.shape) == 2 else ()
    return OutSpec(shape, self.dtype), OutSpec((), self.dtype)


def nll_loss_backward(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def nll_loss2d(
    self: Meta, target: Meta, weight: Meta | None, reduction: int, ignore_index: int
) -> tuple[OutSpec, OutSpec]:
    require(
        len(target.shape) == 3,
        f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target.shape)}",
    )
    require(
        len(self.shape) == 4,
        f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {len(self.shape)}",
    )
    require(
        (self.shape[0], *self.shape[2:]) == target.shape,
        f"size mismatch (got input: {shown(self.shape)} , target: {shown(target.shape)}",
    )
    _check_weight(self.shape[1], weight)
    return OutSpec(target.shape if reduction == 0 else (), self.dtype), OutSpec((), self.dtype)


def nll_loss2d_backward(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def multi_margin(
    self: Meta, target: Meta, p: Any = 1, margin: Any = 1, weight: Meta | None = None, reduction: int = 1
) -> OutSpec:
    _check_not_empty(self)
    count = self.shape[0] if len(self.shape) == 2 else 1
    require(
        numel(target.shape) == count and len(target.shape) <= 1,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
        f"Expected target size [{count}], but got {shown(target.shape)}. Input has shape {shown(self.shape)}.",
    )
    classes = self.shape[-1] if self.shape else 1
    require(
        weight is None or numel(weight.shape) == classes,
        f"inconsistent weight size, expected {classes} but got {shown(weight.shape) if weight else ''}",
    )
    if target.dtype is not torch.int64:
        fail(f"expected scalar type Long but found {title(target)}")
    return OutSpec(target.shape if reduction == 0 else (), self.dtype)


def _check_not_empty(self: Meta) -> None:
    require(
        len(self.shape) <= 2 and (not self.shape or self.shape[-1] != 0),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shown(self.shape)}",
    )


def multilabel_margin(self: Meta, target: Meta, reduction: int) -> tuple[OutSpec, OutSpec]:
    _check_not_empty(self)
    require(
        target.shape == self.shape or len(self.shape) < 2,
        f"inconsistent target size: {shown(target.shape)} for input of size: {shown(self.shape)}",
    )
    shape: Shape = self.shape[:1] if reduction == 0 and len(self.shape) == 2 else ()
    return OutSpec(shape, self.dtype), OutSpec(target.shape, self.dtype)


def margin_backward(grad_output: Meta, self: Meta, *_: Any) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


_CTC = " (while checking arguments for ctc_loss_allocate_outputs)"


def ctc_loss(
    log_probs: Meta, targets: Meta, input_lengths: Shape, target_lengths: Shape, blank: int = 0, *_: Any
) -> tuple[OutSpec, OutSpec]:
    """The second result's last dim is 2 · the longest target + 1."""
    require(numel(log_probs.shape) > 0, "log_probs tensor must not be empty")
    rank = len(log_probs.shape)
    require(
        rank == 3, f"Expected 3-dimensional tensor, but got {rank}-dimensional tensor for argument #1 'log_probs'{_CTC}"
    )
    time, batch, classes = log_probs.shape
    require(0 <= blank < classes, "blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        require(len(lengths) == batch, f"{name} must be of size batch_size")
    _check_targets(targets, target_lengths)
    for length in input_lengths:
        _check_least("input_lengths", length)
        require(length <= time, f"Expected input_lengths to have value at most {time}, but got value {length}{_CTC}")
    if log_probs.dtype not in (torch.float32, torch.float64):
        not_implemented("ctc_loss_cpu", log_probs.dtype)
    states = 2 * max(target_lengths) + 1
    return OutSpec((batch,), log_probs.dtype), OutSpec((batch, time, states), log_probs.dtype)


def _check_least(name: str, length: int) -> None:
    require(length >= 0, f"Expected {name} to have value at least 0, but got value {length}{_CTC}")


def _check_targets(targets: Meta, lengths: Shape) -> None:
    """Flat, all after one another; or a row per sample."""
    if targets.dtype not in (torch.int64, torch.int32):
        fail(
            "Expected tensor for argument #2 'targets' to have scalar type Int; but got "
            f"torch.{title(targets)}Tensor instead{_CTC}"
        )
    rank, which = len(targets.shape), f" for argument #2 'targets'{_CTC}"
    require(0 < rank <= 2, f"Expected 1 to 2 dimensions, but got {rank}-dimensional tensor{which}")
    for length in lengths:
        _check_least("target_lengths", length)
    size, wanted = targets.shape[0], sum(lengths) if rank == 1 else len(lengths)
    require(size == wanted, f"Expected tensor to have size {wanted} at dimension 0, but got size {size}{which}")
    if rank == 2:
        longest, width = max(lengths), targets.shape[1]
        fits = width >= longest
        require(fits, f"Expected tensor to have size at least {longest} at dimension 1, but got size {width}{which}")


def ctc_loss_backward(grad: Meta, log_probs: Meta, *_: Any) -> OutSpec:
    return OutSpec(log_probs.shape, log_probs.dtype)


TABLE: Table = {
    **rows(pair(2), "mse_loss smooth_l1_loss soft_margin_loss"),
    **rows(huber_loss, "huber_loss"),
    **rows(pair_backward, "soft_margin_loss_backward"),
    **rows(contiguous_backward, "mse_loss_backward smooth_l1_loss_backward huber_loss_backward"),
    **rows(binary_cross_entropy, "binary_cross_entropy"),
    **rows(binary_cross_entropy_backward, "binary_cross_entropy_backward"),
    **rows(with_logits, "binary_cross_entropy_with_logits"),
    **rows(nll_loss, "nll_loss_forward"),
    **rows(nll_loss_backward, "nll_loss_backward"),
    **rows(nll_loss2d, "nll_loss2d_forward"),
    **rows(nll_loss2d_backward, "nll_loss2d_backward"),
    **rows(multi_margin, "multi_margin_loss"),
    **rows(multilabel_margin, "multilabel_margin_loss_forward"),
    **rows(margin_backward, "multi_margin_loss_backward multilabel_margin_loss_backward"),
    **rows(ctc_loss, "_ctc_loss"),
    **rows(ctc_loss_backward, "_ctc_loss_backward _ctc_loss_backward.Tensor"),
}
