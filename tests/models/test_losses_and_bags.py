"""Operators that reach the compiler in another form than PyTorch's: CTC loss, whose lengths become tensors, embedding
bags, margin losses and RReLU. They give the CPU's values and gradients, and none runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

import mlirdev

pytestmark = pytest.mark.slow
DEVICE = "mlirdev"


def gradients(call: Callable[..., torch.Tensor], *args: torch.Tensor) -> list[torch.Tensor]:
    """The call's value, and the gradient of each float among its arguments."""
    leaves = [a for a in args if a.is_floating_point()]
    for leaf in leaves:
        leaf.requires_grad_()
    value = call(*args)
    weights = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).view(value.shape).to(value.device)
    return [value.detach(), *torch.autograd.grad(value, leaves, weights)]


def check(call: Callable[..., torch.Tensor], *args: torch.Tensor) -> None:
    expected = gradients(call, *[a.clone() for a in args])
    with mlirdev.no_fallback():
        got = [v.cpu() for v in gradients(call, *[a.to(DEVICE) for a in args])]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("times", "lengths"), [((9, 7, 9), (4, 0, 3)), ((1, 9, 0), (4, 1, 0))])
def test_ctc_loss(flat: bool, times: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x, labels = torch.randn(9, 3, 6), torch.randint(1, 6, (sum(lengths),) if flat else (3, 4))
    for zero_infinity in (False, True):
        check(lambda v, t, z=zero_infinity: F.ctc_loss(v.log_softmax(2), t, times, lengths, 0, "none", z), x, labels)


def test_other_lengths_are_the_same_graph() -> None:
    x, labels = torch.randn(9, 3, 6).log_softmax(2).to(DEVICE), torch.randint(1, 6, (3, 4)).to(DEVICE)
    F.ctc_loss(x, labels, (9, 8, 7), (4, 2, 1)).item()
    before = mlirdev.metrics.snapshot()["compiles"]
    F.ctc_loss(x, labels, (7, 9, 6), (1, 4, 3)).item()
    assert mlirdev.metrics.snapshot()["compiles"] == before


def test_ctc_loss_of_wrong_lengths_reads_as_eager() -> None:
    x, labels = torch.randn(9, 3, 6), torch.randint(1, 6, (3, 4))
    for times, lengths in (((10, 9, 9), (1, 1, 1)), ((9, 9, 9), (5, 1, 1)), ((9, 9), (1, 1, 1))):
        with pytest.raises(RuntimeError) as eager:
            F.ctc_loss(x, labels, times, lengths)
        with pytest.raises(RuntimeError) as ours:
            F.ctc_loss(x.to(DEVICE), labels.to(DEVICE), times, lengths)
        assert str(ours.value) == str(eager.value)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_embedding_bag(mode: str, padding: int | None) -> None:
    table = torch.randn(6, 3)
    table[1, 1] = float("nan")
    picks, starts = torch.tensor([1, 5, 5, 0, 2, 2, 4, 1, 3]), torch.tensor([0, 2, 2, 7])
    check(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, padding_idx=padding), table, picks, starts)
    check(lambda w, i: F.embedding_bag(i.view(3, 3), w, mode=mode, padding_idx=padding), table, picks)


def test_embedding_bag_with_weights() -> None:
    picks, starts = torch.tensor([1, 5, 5, 0, 2, 2, 4]), torch.tensor([0, 2, 2, 7])
    check(
        lambda w, p, i, o: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p, include_last_offset=True),
        torch.randn(6, 3),
        torch.rand(7),
        picks,
        starts,
    )


@pytest.mark.parametrize(("power", "weighted", "reduction"), [(1, False, "mean"), (2, True, "sum"), (1, True, "none")])
def test_multi_margin_loss(power: int, weighted: bool, reduction: str) -> None:
    weight = torch.rand(7)

    def call(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        each = weight.to(x.device) if weighted else None
        return F.multi_margin_loss(x, target, power, 0.7, each, reduction=reduction)

    check(call, torch.randn(5, 7), torch.tensor([0, 6, 3, 3, 1]))


def test_rrelu_in_training() -> None:
    x = torch.randn(50, 40, device=DEVICE, requires_grad=True)
    with mlirdev.no_fallback():
        y = F.rrelu(x, 0.1, 0.3, training=True)
        y.sum().backward()
    factor = (y / x).detach().cpu()
    negative = x.detach().cpu() <= 0
    assert (factor[~negative] == 1).all()
    drawn = factor[negative]
    assert 0.0999 <= drawn.min() < 0.11
    assert 0.29 < drawn.max() <= 0.3001
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), factor)
