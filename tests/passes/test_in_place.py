"""Which results of whole kernels are offered to be written over a param; `CompiledKernel` checks that it is right."""

from __future__ import annotations

import pytest
import torch

from tests.passes.kernels import CompiledKernel

ELEMENTWISE = """
#same = affine_map<(d0, d1) -> (d0, d1)>
#other = affine_map<(d0, d1) -> ({read})>
func.func @kernel(%x: tensor<{n}x{n}x{kind}>, %y: tensor<{n}x{n}x{kind}>)
    -> (tensor<{n}x{n}x{kind}>, tensor<{n}x{n}x{kind}>) {{
  %e = tensor.empty() : tensor<{n}x{n}x{kind}>
  %r:2 = linalg.generic {{indexing_maps = [#same, #other, #same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : tensor<{n}x{n}x{kind}>, tensor<{n}x{n}x{kind}>)
      outs(%e, %e : tensor<{n}x{n}x{kind}>, tensor<{n}x{n}x{kind}>) {{
  ^bb0(%a: {kind}, %b: {kind}, %c: {kind}, %d: {kind}):
    %0 = arith.addf %a, %b : {kind}
    %1 = arith.mulf %0, %b : {kind}
    linalg.yield %0, %1 : {kind}, {kind}
  }} -> (tensor<{n}x{n}x{kind}>, tensor<{n}x{n}x{kind}>)
  return %r#0, %r#1 : tensor<{n}x{n}x{kind}>, tensor<{n}x{n}x{kind}>
}}
"""


def elementwise(n: int, read: str, dtype: torch.dtype = torch.float32) -> CompiledKernel:
    """x + y and (x + y) * y, y being read at other places; called, and compared with the same on tensors."""
    kernel = CompiledKernel(
        ELEMENTWISE.format(n=n, read=read, kind={torch.float32: "f32", torch.bfloat16: "bf16"}[dtype])
    )
    x, y = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)
    x[0, 0], y[1, 1] = float("nan"), float("inf")
    results = [torch.empty_like(x), torch.empty_like(x)]
    kernel(x, y, results=results)
    there = y.T if read == "d1, d0" else y
    assert torch.equal(results[0].nan_to_num(7.0), (x + there).nan_to_num(7.0))
    assert torch.equal(results[1].nan_to_num(7.0), ((x + there) * there).nan_to_num(7.0))
    return kernel


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_result_over_each_param_that_is_read_at_its_place(dtype: torch.dtype) -> None:
    assert elementwise(37, "d0, d1", dtype).signature.in_place == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_not_over_a_param_that_is_read_at_another_place() -> None:
    assert elementwise(37, "d1, d0").signature.in_place == ((0, 0), (1, 0))


def test_results_that_are_written_past_the_caches_over_params() -> None:
    """Larger than the caches: the kernel is there twice, with streaming stores and without."""
    assert elementwise(2048, "d0, d1").signature.in_place


PRODUCT = """
func.func @kernel(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>)
      -> tensor<32x32xf32>
  %s = linalg.add ins(%p, %x : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %s : tensor<32x32xf32>
}
"""


def test_not_over_an_operand_of_a_product() -> None:
    kernel = CompiledKernel(PRODUCT)
    assert kernel.signature.in_place == ()
    x, w = torch.randn(32, 32), torch.randn(32, 32)
    assert torch.allclose(kernel(x, w, results=[torch.empty(32, 32)]), x @ w + x, atol=1e-4)
