"""Convolution: PyTorch asks an out-of-tree device for overloads of its own, which are the ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.dispatch import functional
from mlirdev.lazy.handlers import handles

_convolution = functional(torch.ops.aten.convolution.default)
_backward = functional(torch.ops.aten.convolution_backward.default)

handles("convolution_overrideable")(_convolution)


@handles("convolution_backward_overrideable")
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    biases = [grad_output.shape[1]]
    return _backward(
        grad_output, input, weight, biases, stride, padding, dilation, transposed, output_padding, groups, output_mask
    )
