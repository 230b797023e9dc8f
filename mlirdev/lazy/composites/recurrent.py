"""`nn.LSTM`, `nn.GRU` and `nn.RNN` over whole sequences.

PyTorch's own composition multiplies the inputs of every step by the same weight, step by step, on all devices but its
own two; here all steps are one product. The cells are those of `rnn.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev.lazy.handlers import composes

# One step: (the input's gates, the hidden state's gates, state) → state; the first of a state is the output.
State = tuple[Tensor, ...]
Step = Callable[[Tensor, Tensor, State], State]


@composes("lstm.input")
def lstm(x: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool, *rest: Any) -> State:
    projects = hx[0].shape[2] != hx[1].shape[2]
    weights = _Weights(params, has_biases, projects)
    return _sequence(_lstm_step, x, hx, weights, *rest)


@composes("gru.input")
def gru(x: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, *rest: Any) -> State:
    return _sequence(_gru_step, x, [hx], _Weights(params, has_biases), *rest)


@composes("rnn_tanh.input")
def rnn_tanh(x: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, *rest: Any) -> State:
    return _sequence(lambda i, h, state: (torch.tanh(i + h),), x, [hx], _Weights(params, has_biases), *rest)


@composes("rnn_relu.input")
def rnn_relu(x: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: bool, *rest: Any) -> State:
    return _sequence(lambda i, h, state: (torch.relu(i + h),), x, [hx], _Weights(params, has_biases), *rest)


def _lstm_step(inputs: Tensor, hidden: Tensor, state: State) -> State:
    hy, cy, _ = torch.ops.aten._thnn_fused_lstm_cell(inputs, hidden, state[1])
    return hy, cy


def _gru_step(inputs: Tensor, hidden: Tensor, state: State) -> State:
    hy, _ = torch.ops.aten._thnn_fused_gru_cell(inputs, hidden, state[0])
    return (hy,)


class _Weights:
    """The flat list of parameters, by layer and direction: w_ih, w_hh, then b_ih, b_hh, then w_hr where there are."""

    def __init__(self, params: Sequence[Tensor], has_biases: bool, projects: bool = False) -> None:
        self._params = params
        self._biases = has_biases
        self._projects = projects
        self._count = 2 + 2 * has_biases + projects

    def of(self, number: int) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
        given = list(self._params[number * self._count : (number + 1) * self._count])
        projection = given.pop() if self._projects else None
        w_ih, w_hh, *biases = given
        b_ih, b_hh = biases if self._biases else (None, None)
        return w_ih, w_hh, b_ih, b_hh, projection


def _sequence(
    step: Step,
    x: Tensor,
    hx: Sequence[Tensor],
    weights: _Weights,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> State:
    """All layers: the outputs of the last one, and every layer's last state."""
    x = x.transpose(0, 1) if batch_first else x
    last: list[State] = []
    for layer in range(layers):
        outputs = []
        for backward in range(1 + bidirectional):
            number = (1 + bidirectional) * layer + backward
            state = tuple(h[number] for h in hx)
            steps = list(_direction(step, x, state, weights.of(number), bool(backward)))
            last.append(steps[-1])
            outputs.append(torch.stack([s[0] for s in (reversed(steps) if backward else steps)]))
        x = torch.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and train and layer + 1 < layers:
            x = F.dropout(x, dropout)
    x = x.transpose(0, 1) if batch_first else x
    return x, *(torch.stack(states) for states in zip(*last, strict=True))


def _direction(step: Step, x: Tensor, state: State, weights: Any, backward: bool) -> Iterator[State]:
    """The states after each step of one layer, in the order in which they are made."""
    w_ih, w_hh, b_ih, b_hh, projection = weights
    gates = F.linear(x, w_ih, b_ih).unbind(0)
    for inputs in reversed(gates) if backward else gates:
        state = step(inputs, F.linear(state[0], w_hh, b_hh), state)
        if projection is not None:
            state = (F.linear(state[0], projection), *state[1:])
        yield state
