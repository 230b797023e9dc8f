"""Batches and lengths that change: values as on the CPU, and a handful of compiles."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import mlirdev
from mlirdev import events

close = functools.partial(torch.testing.assert_close, rtol=2e-4, atol=2e-5)


class Block(nn.Module):
    """Convolution, norms, attention and linears, small."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 4, stride=4)
        self.norm, self.qkv, self.out = nn.LayerNorm(12), nn.Linear(12, 36), nn.Linear(12, 12)
        self.head = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        b, t, d = x.shape
        q, k, v = (z.view(b, t, 2, d // 2).transpose(1, 2) for z in self.qkv(self.norm(x)).split(d, 2))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return self.head(x.mean(1))


class Decoder(nn.Module):
    """Attention over a cache that grows by a token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place, self.qkv = nn.Embedding(17, 8), nn.Embedding(64, 8), nn.Linear(8, 24)
        self.head = nn.Linear(8, 17)

    def forward(self, ids: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        past = cache[0].shape[2] if cache else 0
        b, t = ids.shape
        x = self.embed(ids) + self.place(torch.arange(past, past + t, device=ids.device))
        q, k, v = (z.view(b, t, 2, 4).transpose(1, 2) for z in self.qkv(x).split(8, 2))
        if cache:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.head(x + y.transpose(1, 2).reshape(b, t, 8))[:, -1], (k, v)


def on_both(model: nn.Module) -> tuple[nn.Module, nn.Module]:
    return model, copy.deepcopy(model).to("mlirdev")


@pytest.fixture
def compiled(happened: list[events.Event]) -> Iterator[list[events.GraphCompiled]]:
    """The graphs compiled since the test last emptied the list."""
    found: list[events.GraphCompiled] = []
    unsubscribe = events.subscribe(lambda e: found.append(e) if isinstance(e, events.GraphCompiled) else None)
    yield found
    unsubscribe()


def test_eight_batch_sizes_from_one_on_cost_two_compiles(compiled: list[events.GraphCompiled]) -> None:
    torch.manual_seed(0)
    cpu, device = on_both(Block().eval())
    with torch.no_grad():
        for batch in (1, 2, 3, 4, 5, 6, 7, 8):
            x = torch.randn(batch, 3, 8, 8)
            close(device(x.to("mlirdev")).cpu(), cpu(x))
    assert [e.generalised for e in compiled] == [False, True]
    assert compiled[1].reason == "sizes: 1 is now 2"


def test_training_on_batches_of_other_sizes(compiled: list[events.GraphCompiled]) -> None:
    torch.manual_seed(0)
    cpu, device = on_both(Block())
    for batch in (4, 3, 2, 6, 5):
        x, y = torch.randn(batch, 3, 8, 8), torch.randint(5, (batch,))
        for model, xs, ys in ((cpu, x, y), (device, x.to("mlirdev"), y.to("mlirdev"))):
            model.zero_grad()
            F.cross_entropy(model(xs), ys).backward()
        mlirdev.sync()
        for ours, theirs in zip(device.parameters(), cpu.parameters(), strict=True):
            close(ours.grad.cpu(), theirs.grad)
    assert sum(e.nodes > 20 for e in compiled) == 2


def test_a_growing_cache_compiles_nothing_after_the_third_step(compiled: list[events.GraphCompiled]) -> None:
    torch.manual_seed(0)
    cpu, device = on_both(Decoder().eval())
    prompt, tokens = torch.randint(17, (1, 5)), torch.randint(17, (12, 1, 1))
    with torch.no_grad():
        (expected, theirs), (found, ours) = cpu(prompt, None), device(prompt.to("mlirdev"), None)
        close(found.cpu(), expected)
        for step, token in enumerate(tokens):
            (expected, theirs), (found, ours) = cpu(token, theirs), device(token.to("mlirdev"), ours)
            close(found.cpu(), expected)
            if step == 2:
                compiled.clear()
    assert not compiled


def test_a_marked_dim_is_an_input_of_the_first_compile(compiled: list[events.GraphCompiled]) -> None:
    linear = nn.Linear(6, 7)
    cpu, device = on_both(linear)
    with torch.no_grad():
        for batch in (5, 9, 2):
            x = torch.randn(batch, 6)
            mine = x.to("mlirdev")
            mlirdev.mark_dynamic(mine, 0)
            close(device(mine).relu().cpu(), cpu(x).relu())
    assert [e.generalised for e in compiled] == [True]
    assert "marked as varying: dim 0 of s0x6xf32" in compiled[0].reason


def test_what_a_generalised_graph_made_varies_too(compiled: list[events.GraphCompiled]) -> None:
    x = torch.randn(5, 6, device="mlirdev") + 0
    mlirdev.mark_dynamic(x, -2)
    y = x * 2
    mlirdev.sync()
    compiled.clear()
    z = y.exp()
    mlirdev.sync()
    assert [e.generalised for e in compiled] == [True]
    close(z.cpu(), (x.cpu() * 2).exp())


@pytest.mark.parametrize(
    ("tensor", "dim", "error", "says"),
    [
        (lambda: torch.ones(3), 0, ValueError, "not of cpu; move it there first"),
        (lambda: torch.ones(3, 4, device="mlirdev")[1:], 0, ValueError, "mark its base, or a clone()"),
        (lambda: torch.ones(3, 4, device="mlirdev"), 2, IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
    ],
)
def test_a_mark_that_cannot_be(tensor: object, dim: int, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        mlirdev.mark_dynamic(tensor(), dim)  # type: ignore[operator]
