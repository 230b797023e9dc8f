"""Whole models, forward and backward, import and give CPU eager's values; also with the batch as an input."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mlirdev import importer
from mlirdev.graph import Graph, Sym

from .capture import fx_graph
from .execute import Program
from .models import AutoEncoder, Block, Decoder, ResNet18, capture, mlp

pytestmark = pytest.mark.slow

BATCH = 11


def square(out: torch.Tensor) -> torch.Tensor:
    return out.pow(2).mean()


def next_token(out: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(out.view(-1, 50), torch.arange(BATCH * 16) % 50)


MODELS = {
    "mlp": (mlp, square, (BATCH, 20)),
    "block": (lambda: Block(64, 4), square, (BATCH, 16, 64)),
    "decoder": (lambda: Decoder(50, 32, 2, 2), next_token, (BATCH, 16)),
    "autoencoder": (AutoEncoder, square, (BATCH, 1, 16, 16)),
    "resnet-eval": (lambda: ResNet18(8, 10).eval(), None, (BATCH, 3, 32, 32)),
    "resnet": (lambda: ResNet18(8, 10), square, (BATCH, 3, 32, 32)),
}

SLOW = {"decoder", "resnet"}


def with_syms(graph: Graph) -> tuple[Graph, list[int]]:
    """Every size that is a multiple of the batch as an input of its own."""
    values = sorted({d for d in graph.ints if isinstance(d, int) and d >= BATCH and d % BATCH == 0})
    index = {v: Sym(i) for i, v in enumerate(values)}
    return replace(graph.map_sizes(lambda d: index.get(d, d) if isinstance(d, int) else d), syms=len(values)), values


@pytest.mark.parametrize("runtime", [False, True], ids=["static", "batch"])
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in MODELS])
def test_model(name: str, runtime: bool) -> None:
    torch.manual_seed(0)
    make, loss, shape = MODELS[name]
    module: nn.Module = make()
    x = torch.randint(0, 50, shape) if name == "decoder" else torch.randn(shape)
    gm, inputs, expected = capture(module, loss, x)
    graph, inputs, scalars = fx_graph(gm, inputs)
    if runtime and name == "autoencoder":
        pytest.skip("its mean over all elements has no size of the batch alone")
    graph, syms = with_syms(graph) if runtime else (graph, [])
    assert not [n.op for n in graph.nodes if importer.unsupported(n, graph.specs)]
    got = Program(graph, importer.new_context())(inputs, scalars, syms)
    for value, wanted in zip(got, expected[: 1 + len(list(module.parameters()))], strict=False):
        scale = wanted.detach().abs().max().clamp_min(1e-3)
        assert ((value - wanted.detach()).abs().max() / scale) < 1e-3
