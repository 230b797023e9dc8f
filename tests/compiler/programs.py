"""Small programs, one of each kind of kernel."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Program = Callable[[Callable[..., Tensor]], Tensor]


def training(make: Callable[..., Tensor]) -> Tensor:
    x, w = make(4, 3, 9, 9), make(8, 3, 3, 3).requires_grad_()
    loss = F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2).square().mean()
    return torch.autograd.grad(loss, w)[0]


# One of each kind of kernel, with sizes that no vector divides.
PROGRAMS: dict[str, Program] = {
    "elementwise": lambda make: F.gelu(make(37, 53) * 1.5 + make(53)).tanh().exp(),
    "rows": lambda make: F.layer_norm(torch.softmax(make(37, 53), -1), (53,)),
    "columns": lambda make: make(37, 53).sum(0),
    "matmul": lambda make: torch.relu(make(37, 53) @ make(53, 29) + make(29)),
    "few rows": lambda make: F.linear(make(3, 64), make(70, 64), make(70)),
    "batches": lambda make: torch.matmul(make(3, 17, 19), make(3, 23, 19).transpose(1, 2)),
    "attention": lambda make: F.scaled_dot_product_attention(*(make(1, 2, 33, 16) for _ in range(3)), is_causal=True),
    "bf16": lambda make: (make(33, 40).bfloat16() @ make(40, 21).bfloat16()).float(),
    "depthwise": lambda make: F.conv2d(make(2, 6, 11, 11), make(6, 1, 3, 3), groups=6, stride=2, padding=1),
    "training": training,
    "gather": lambda make: make(9, 5)[torch.tensor([8, 0, 3, 3])].cumsum(0).t().contiguous(),
}


def maker(device: str) -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator).to(device)
