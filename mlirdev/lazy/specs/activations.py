"""Activations and their backwards: elementwise, without integers."""

from __future__ import annotations

from typing import Any

import torch

from mlirdev.lazy.specs.checks import not_implemented, require, title, wrap_dim
from mlirdev.lazy.specs.layout import elementwise_strides, like_strides, strides_of
from mlirdev.lazy.specs.pointwise import elementwise, pointwise
from mlirdev.lazy.specs.promotion import is_integral
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Table, rows


def floating(kernel: str) -> Row:
    """One floating tensor; the rest is numbers and modes."""

    def rule(self: Meta, *_: Any) -> OutSpec:
        if is_integral(self.dtype):
            not_implemented(kernel, self.dtype)
        return elementwise((self,))

    return rule


def relu(self: Meta) -> OutSpec:
    require(self.dtype is not torch.bool, "Boolean inputs not supported for relu")
    if self.dtype.is_complex:
        not_implemented("clamp_min_scalar_cpu", self.dtype)
    return elementwise((self,))


def gelu(self: Meta, approximate: str = "none") -> OutSpec:
    require(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")
    return floating("GeluKernelImpl")(self)  # type: ignore[return-value]  # one result


def softshrink(self: Meta, lambd: Any = 0.5) -> OutSpec:
    """The sign of lambd is checked when an op is new; its value is a run-time input after that."""
    if not self.dtype.is_floating_point:
        not_implemented("softshrink_check", self.dtype)
    largest = torch.finfo(self.dtype).max
    require(
        lambd >= 0,
        f"lambda must be in range [0, {largest:g}] for input dtype {title(self)}, but found {lambd:g}",
    )
    return elementwise((self,))


def threshold(self: Meta, threshold: Any, value: Any) -> OutSpec:
    return elementwise((self,))


def hardtanh(self: Meta, min_val: Any = -1, max_val: Any = 1) -> OutSpec:
    require(self.dtype is not torch.bool, "Bool inputs not supported for hardtanh")
    negative = self.dtype is torch.uint8 and (min_val < 0 or max_val < 0)
    require(not negative, "cannot do hardtanh on an unsigned type with negative limits")
    return OutSpec(self.shape, self.dtype, like_strides(self))


def prelu(self: Meta, weight: Meta) -> OutSpec:
    return OutSpec(self.shape, self.dtype, like_strides(self))


def glu(self: Meta, dim: int = -1) -> OutSpec:
    require(len(self.shape) > 0, "glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim]
    require(size % 2 == 0, f"Halving dimension must be even, but dimension {dim} is size {size}")
    shape = (*self.shape[:dim], size // 2, *self.shape[dim + 1 :])
    half = Meta(shape, self.dtype, strides_of(self))
    return OutSpec(shape, self.dtype, elementwise_strides(shape, [half, half]))


def glu_backward(grad_output: Meta, self: Meta, dim: int) -> OutSpec:
    return OutSpec(self.shape, self.dtype)


def log_sigmoid_forward(self: Meta) -> tuple[OutSpec, OutSpec]:
    spec = OutSpec(self.shape, self.dtype)
    return spec, spec


def log_sigmoid_backward(grad_output: Meta, self: Meta, buffer: Meta) -> OutSpec:
    return elementwise((grad_output, self))


def prelu_backward(grad_output: Meta, self: Meta, weight: Meta) -> tuple[OutSpec, OutSpec]:
    spec = elementwise((grad_output, self, weight))
    return spec, spec


def logit_backward(grad_output: Meta, self: Meta, eps: float | None = None) -> OutSpec:
    return elementwise((grad_output, self))


def elu_backward(grad_output: Meta, alpha: Any, scale: Any, input_scale: Any, is_result: bool, value: Meta) -> OutSpec:
    require(
        not (is_result and alpha < 0),
        "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
        "by calling in-place forward function with a negative slope, please call out-of-place version instead.",
    )
    return elementwise((grad_output, value))


TABLE: Table = {
    **rows(relu, "relu"),
    **rows(threshold, "threshold"),
    **rows(hardtanh, "hardtanh"),
    **rows(gelu, "gelu"),
    **rows(floating("silu_cpu"), "silu"),
    **rows(floating("mish_cpu"), "mish"),
    **rows(floating("elu_cpu"), "elu celu selu"),
    **rows(floating("softplus_cpu"), "softplus"),
    **rows(softshrink, "softshrink"),
    **rows(floating("hardshrink_cpu"), "hardshrink"),
    **rows(floating("hardsigmoid_cpu"), "hardsigmoid"),
    **rows(floating("hardswish_cpu"), "hardswish"),
    **rows(floating("leaky_relu_cpu"), "leaky_relu"),
    **rows(prelu, "_prelu_kernel"),
    **rows(prelu_backward, "_prelu_kernel_backward"),
    **rows(pointwise(2), "gelu_backward silu_backward mish_backward hardswish_backward hardsigmoid_backward"),
    **rows(pointwise(2), "sigmoid_backward tanh_backward threshold_backward leaky_relu_backward hardtanh_backward"),
    **rows(pointwise(2), "hardshrink_backward softshrink_backward softplus_backward"),
    **rows(pointwise(3), "rrelu_with_noise_backward"),
    **rows(elu_backward, "elu_backward"),
    **rows(logit_backward, "logit_backward"),
    **rows(glu, "glu"),
    **rows(glu_backward, "glu_backward"),
    **rows(log_sigmoid_forward, "log_sigmoid_forward"),
    **rows(log_sigmoid_backward, "log_sigmoid_backward"),
}
