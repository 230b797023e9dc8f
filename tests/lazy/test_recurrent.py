"""Recurrent layers over sequences beside CPU eager: values, last states, gradients."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

CASES: dict[str, Any] = {
    "lstm": lambda: nn.LSTM(5, 6, num_layers=2),
    "batch first": lambda: nn.LSTM(5, 6, batch_first=True),
    "no biases": lambda: nn.LSTM(5, 6, bias=False),
    "both directions": lambda: nn.LSTM(5, 6, num_layers=2, bidirectional=True),
    "projections": lambda: nn.LSTM(5, 6, proj_size=3, bidirectional=True),
    "gru": lambda: nn.GRU(5, 6, num_layers=2, bidirectional=True),
    "tanh": lambda: nn.RNN(5, 6),
    "relu": lambda: nn.RNN(5, 6, nonlinearity="relu", num_layers=2),
}


def run(layer: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """The outputs, the last states and all gradients."""
    x = x.clone().requires_grad_()
    y, last = layer(x)
    states = list(last) if isinstance(last, tuple) else [last]
    loss = sum((t * t).sum() for t in (y, *states))
    loss.backward()  # type: ignore[union-attr]
    gradients = [x.grad, *(p.grad for p in layer.parameters())]
    return [t.detach().cpu() for t in (y, *states, *gradients)]  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")  # the CPU's
@pytest.mark.parametrize("name", CASES)
def test_sequence(name: str) -> None:
    torch.manual_seed(0)
    layer, x = CASES[name](), torch.randn(4, 3, 5)
    on_device = copy.deepcopy(layer).to("mlirdev")
    for result, wanted in zip(run(on_device, x.to("mlirdev")), run(layer, x), strict=True):
        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-5)


def test_unbatched_inference() -> None:
    torch.manual_seed(0)
    layer, x = nn.LSTM(5, 6), torch.randn(4, 5)
    with torch.inference_mode():
        wanted = layer(x)[0]
        result = copy.deepcopy(layer).to("mlirdev")(x.to("mlirdev"))[0]
    torch.testing.assert_close(result.cpu(), wanted, rtol=1e-4, atol=1e-5)


def test_dropout_between_layers_drops() -> None:
    torch.manual_seed(0)
    layer, x = nn.LSTM(5, 6, num_layers=2, dropout=0.5).to("mlirdev"), torch.randn(4, 3, 5).to("mlirdev")
    assert not torch.equal(layer(x)[0].cpu(), layer(x)[0].cpu())
    layer.eval()
    assert torch.equal(layer(x)[0].cpu(), layer(x)[0].cpu())
