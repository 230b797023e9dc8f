"""Kernels on 1, 2 and 3 threads: the same bits, and as PyTorch has them on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.passes.capture import capture
from tests.passes.kernels import CompiledKernel

Function = Callable[..., Any]


def r(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(dtype)


def run(kernel: CompiledKernel, args: Sequence[Any], wanted: Sequence[torch.Tensor], threads: int) -> list[Any]:
    results = [torch.full(w.shape, 1).to(w.dtype) for w in wanted]
    kernel(*args, results=results, threads=threads)
    assert kernel.error == (0, 0, 0, 0)
    return results


def check(function: Function, *args: torch.Tensor, is_split: bool = True) -> CompiledKernel:
    """Compile for one thread and more; every number of threads gives the bits that one gives."""
    kernel = CompiledKernel(str(capture(function, *args)).replace("@main", "@kernel"))
    assert ("@wants_threads" in kernel.llvm) == is_split
    wanted = function(*args)
    compare(kernel, args, [wanted] if isinstance(wanted, torch.Tensor) else list(wanted))
    return kernel


def compare(kernel: CompiledKernel, args: Sequence[Any], wanted: Sequence[torch.Tensor]) -> None:
    alone = run(kernel, args, wanted, 1)
    torch.testing.assert_close(alone, list(wanted), rtol=1e-4, atol=1e-4, equal_nan=True)
    for threads in (2, 3):
        for _ in range(5):
            together = run(kernel, args, wanted, threads)
            assert all(map(same_bits, together, alone))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool((a.flatten().view(torch.uint8) == b.flatten().view(torch.uint8)).all())


CASES: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "elementwise": (lambda x, y: torch.tanh(x) * 2 + y, (r(1000, 777), r(1000, 777))),
    "bool": (lambda x: x > 0.5, (r(1001, 777),)),
    "broadcast": (lambda x, y: x * y, (r(3, 1, 900), r(400, 1))),
    "transpose": (lambda x: x.t().contiguous(), (r(1000, 777),)),
    "few_outer": (lambda x, y: x.transpose(1, 2) + y, (r(2, 300, 500), r(2, 500, 300))),
    "softmax": (lambda x: torch.softmax(x, -1), (r(301, 1024),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (500,), w, b), (r(700, 500), r(500), r(500))),
    "row_sums": (lambda x: x.sum(1), (r(1200, 800),)),
    "column_sums": (lambda x: x.sum(0), (r(1200, 800),)),
    "largest_of_columns": (lambda x: x.amax(0), (r(1200, 300),)),
    "column_sums_of_blocks": (lambda x: x.sum((0, 2)), (r(300, 20, 90),)),
    "integer_columns": (lambda x: x.sum(0), ((r(1200, 300) * 100).int(),)),
    "by_column_sums": (lambda x: x / x.sum(0, keepdim=True), (r(1200, 800),)),
    "by_maximum": (lambda x: x / x.amax(0).sum(), (r(1200, 800),)),
    "sum": (lambda x: x.sum(), (r(500, 700),)),
    "sum_of_a_prime": (lambda x: x.sum(), (r(399989),)),
    "largest_and_smallest": (lambda x: (x.amax(), x.amin()), (r(500, 700),)),
    "integers": (lambda x: x.sum(), ((r(500, 700) * 100).int(),)),
    "any": (lambda x: x.any(), (r(500, 700) > 0.999999,)),
    "wide_accumulator": (lambda x: x.sum(), (r(500, 700, dtype=torch.bfloat16),)),
    "not_a_number": (lambda x: (x.sum(), x.amax()), (r(500, 700).index_fill(0, torch.tensor([300]), float("nan")),)),
    "by_sum": (lambda x: x / x.sum(), (r(500, 700),)),
    "loss": (lambda x: torch.logsumexp(x, 1).mean(), (r(600, 500),)),
    "matmul": (lambda a, b: torch.relu(a @ b) + 1, (r(130, 170), r(170, 330))),
    "few_rows": (lambda a, b: a @ b.t(), (r(4, 1000), r(1500, 1000))),
    "batches": (lambda a, b: a @ b, (r(12, 60, 70), r(12, 70, 50))),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), (r(2, 8, 30, 30), r(16, 8, 3, 3))),
    "embedding": (lambda i, w: F.embedding(i, w), ((r(700) * 90).long(), r(90, 800))),
}


@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_the_number_of_threads(name: str) -> None:
    function, args = CASES[name]
    check(function, *args)


def test_a_small_kernel_is_not_split() -> None:
    kernel = check(lambda x: x * 2 + 1, r(100, 100), is_split=False)
    assert kernel.signature.thread_workspace == 0
