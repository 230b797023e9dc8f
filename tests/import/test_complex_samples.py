"""PyTorch's own samples of complex operators (OpInfo): every operator that they call, forward and backward, gives
CPU eager's values."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from mlirdev import importer

from .calls import check, isolated

OPS = {op.full_name: op for op in op_db}
FAST = ["fft.irfft", "std"]
SLOW = [
    "fft.fft", "fft.ifft2", "fft.hfftn", "fft.irfftn", "nn.functional.linear", "addcdiv", "addmm", "baddbmm",
    "cumprod", "prod", "var_mean", "logsumexp", "renorm", "dist", "linalg.vector_norm", "rsqrt", "acos", "atan",
    "tanh", "sgn", "angle", "scatter_add", "diag_embed", "cat", "unfold",
]  # fmt: skip
NAMES = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.fixture(scope="module")
def context():
    return importer.new_context()


def forward_and_backward(name: str) -> None:
    samples = OPS[name].sample_inputs("cpu", torch.complex64, requires_grad=OPS[name].supports_autograd)
    for sample in itertools.islice(samples, 3):
        result = OPS[name].op(sample.input, *sample.args, **sample.kwargs)
        outputs = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        wanted = [t for t in outputs if t.requires_grad]
        if wanted:
            torch.autograd.backward(wanted, [torch.randn_like(t) for t in wanted])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, context) -> None:
    torch.manual_seed(0)
    wrong = isolated(lambda: check(lambda: forward_and_backward(name), context))
    assert not wrong, "\n".join(wrong)
