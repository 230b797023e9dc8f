"""What is measured: a table from a name to a Workload. Weights and inputs are made on the CPU with a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import models

Wrap = Callable[[Any], Any]
Step = Callable[[int], list[Tensor]]
Inputs = Sequence[Sequence[Tensor]]  # two sets, which take turns


@dataclass(frozen=True)
class Job:
    """A workload on an engine: `step(i)` does one iteration, returns what to compare; `weights()`: what it trains."""

    step: Step
    weights: Callable[[], list[Tensor]] = list


@dataclass(frozen=True)
class Workload:
    """`make(device, wrap)` builds the job there; `wrap` is the identity or torch.compile. `tolerance` is of values
    relative to their tensor's largest, and of trained weights relative to how far they moved."""

    make: Callable[[str, Wrap], Job]
    group: str
    tolerance: float


WORKLOADS: dict[str, Workload] = {}

# Of a tensor's largest element; half types round every result once.
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 5e-3}


def infer(name: str, group: str, build: Callable[[], tuple[Any, Inputs]], tolerance: float = 1e-4) -> None:
    """A workload that calls a module or function on its inputs, without gradients."""

    def make(device: str, wrap: Wrap) -> Job:
        torch.manual_seed(0)
        function, inputs = build()
        if isinstance(function, nn.Module):
            function = function.eval().to(device)
        here = [[x.to(device) for x in given] for given in inputs]
        called = wrap(function)

        def step(i: int) -> list[Tensor]:
            with torch.no_grad():
                return [called(*here[i % 2])]

        return Job(step)

    WORKLOADS[name] = Workload(make, group, tolerance)


def gradient(name: str, group: str, build: Callable[[], tuple[Any, Inputs]], tolerance: float = 1e-4) -> None:
    """A workload that computes a loss of its inputs and the gradient of the first."""

    def make(device: str, wrap: Wrap) -> Job:
        torch.manual_seed(0)
        function, inputs = build()
        called = wrap(function)
        here = [[x.to(device) for x in given] for given in inputs]
        for given in here:
            given[0].requires_grad_()

        def step(i: int) -> list[Tensor]:
            given = here[i % 2]
            loss = called(*given)
            return [loss.detach(), *torch.autograd.grad(loss, given[:1])]

        return Job(step)

    WORKLOADS[name] = Workload(make, group, tolerance)


def train(
    name: str,
    build: Callable[[], tuple[nn.Module, Inputs]],
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
    tolerance: float = 1e-3,
) -> None:
    """A training step with cross-entropy: forward, backward, optimizer."""

    def make(device: str, wrap: Wrap) -> Job:
        torch.manual_seed(0)
        model, inputs = build()
        model = model.train().to(device)
        here = [[x.to(device) for x in given] for given in inputs]
        steps = optimizer(model.parameters())
        called = wrap(model)

        def step(i: int) -> list[Tensor]:
            x, target = here[i % 2]
            steps.zero_grad()
            logits = called(x)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))
            torch.autograd.backward(loss)
            steps.step()
            return [loss.detach()]

        return Job(step, lambda: [p.detach() for p in model.parameters()])

    WORKLOADS[name] = Workload(make, "model", tolerance)


def generate(name: str, build: Callable[[], models.GPT], prompt: int, tokens: int) -> None:
    """A prompt, then a token at a time with a cache that grows; each token is waited for, as a sampler would."""

    def make(device: str, wrap: Wrap) -> Job:
        torch.manual_seed(0)
        model = build().eval()
        vocabulary = model.tokens.num_embeddings
        model = model.to(device)
        prompts = [torch.randint(vocabulary, (1, prompt)).to(device) for _ in range(2)]
        given = torch.randint(vocabulary, (2, tokens, 1, 1)).to(device)  # not its own: engines see equal inputs
        called = wrap(model.cached)

        def step(i: int) -> list[Tensor]:
            with torch.no_grad():
                logits, cache = called(prompts[i % 2], [])
                for token in given[i % 2]:
                    logits[0, -1].argmax().item()
                    logits, cache = called(token, cache)
            return [logits, cache[-1][0]]

        return Job(step)

    WORKLOADS[name] = Workload(make, "model", 1e-3)


def normal(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Inputs:
    return [[torch.randn(shape, dtype=dtype) for shape in shapes] for _ in range(2)]


def tokens(vocabulary: int, *shape: int) -> Inputs:
    return [[torch.randint(vocabulary, shape)] for _ in range(2)]


def labelled(inputs: Inputs, classes: int, *shape: int) -> Inputs:
    return [[*given, torch.randint(classes, shape)] for given in inputs]


# --- models ---------------------------------------------------------------------------------------

infer("mlp_infer", "model", lambda: (models.mlp(784, 1024, 1024, 10), normal((64, 784))))
train(
    "mlp_train_sgd",
    lambda: (models.mlp(784, 512, 512, 10), labelled(normal((128, 784)), 10, 128)),
    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
)
train(
    "gpt_train_step",
    lambda: (models.GPT(2, 256, 4, 8192), labelled(tokens(8192, 4, 64), 8192, 4, 64)),
    lambda p: torch.optim.AdamW(p, lr=3e-4, weight_decay=0.1),
)
train(
    "resnet18_train",
    lambda: (models.resnet18(10), labelled(normal((4, 3, 64, 64)), 10, 4)),
    lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    tolerance=2e-3,
)
infer("resnet18_infer", "model", lambda: (models.resnet18(), normal((1, 3, 224, 224))), 1e-3)
infer("gpt2_block_infer", "model", lambda: (models.Block(768, 12), normal((1, 128, 768))))
infer("gpt2_small_infer", "model", lambda: (models.GPT(12, 768, 12, 50257), tokens(50257, 1, 64)), 1e-3)
infer("lstm_infer", "model", lambda: (models.LSTM(256, 512, 2, 100), normal((8, 32, 256))))
generate("decode_kv16", lambda: models.GPT(4, 256, 4, 2000), 32, 16)

# --- elementwise and rows -------------------------------------------------------------------------


def chain(x: Tensor, y: Tensor) -> Tensor:
    z = torch.relu(x * 1.5 + y)
    z = torch.tanh(z) * torch.sigmoid(x) - 0.25 * y
    z = torch.exp(-z * z) + x.abs().sqrt()
    return torch.where(z > 1.0, z - y, z + y).clamp(-3.0, 3.0)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


infer("elementwise_chain_16M", "rows", lambda: (chain, normal((1 << 24,), (1 << 24,))))
infer(
    "gelu_bias_residual",
    "rows",
    lambda: (lambda x, b, r: F.gelu(x + b) + r, normal((1024, 4096), (4096,), (1024, 4096))),
)
infer("softmax_8192x1024", "rows", lambda: (lambda x: torch.softmax(x, -1), normal((8192, 1024))))
infer("layernorm_4096x1024", "rows", lambda: (nn.LayerNorm(1024), normal((4096, 1024))))
infer("rmsnorm_4096x1024", "rows", lambda: (rms_norm, normal((4096, 1024), (1024,))))
gradient("cross_entropy_fwd_bwd", "rows", lambda: (F.cross_entropy, labelled(normal((256, 32000)), 32000, 256)))

# --- contractions ---------------------------------------------------------------------------------


def matmul(name: str, size: int, dtype: torch.dtype) -> None:
    shape = (size, size)
    infer(name, "matmul", lambda: (torch.matmul, normal(shape, shape, dtype=dtype)), TOLERANCES[dtype])


def linear(name: str, rows: int) -> None:
    infer(name, "matmul", lambda: (nn.Linear(4096, 4096), normal((rows, 4096))))


matmul("matmul_512", 512, torch.float32)
matmul("matmul_1024", 1024, torch.float32)
matmul("matmul_2048", 2048, torch.float32)
matmul("matmul_1024_bf16", 1024, torch.bfloat16)
linear("linear_m1", 1)
linear("linear_m8", 8)
linear("linear_m32", 32)

# --- attention and convolution --------------------------------------------------------------------


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


infer("sdpa_causal_512", "attention", lambda: (causal, normal(*[(1, 12, 512, 64)] * 3)))
gradient(
    "sdpa_causal_512_grad",
    "attention",
    lambda: (lambda q, k, v: causal(q, k, v).square().sum(), normal(*[(1, 12, 512, 64)] * 3)),
    1e-3,
)
infer("conv3x3_56", "conv", lambda: (nn.Conv2d(64, 64, 3, 1, 1), normal((1, 64, 56, 56))))
infer("conv_depthwise_56", "conv", lambda: (models.depthwise_block(128), normal((1, 128, 56, 56))))
