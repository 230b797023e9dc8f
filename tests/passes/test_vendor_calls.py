"""Kernels that call a vendor's functions, by signature and element types, against PyTorch."""

from __future__ import annotations

import pytest
import torch
from msgspec import structs

from tests.passes import kernels

# C = A·B of extended elements.
TEXT = """
#c = affine_map<(m, n, k) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
func.func @kernel(%a: tensor<{m}x{k}xbf16>, %b: tensor<{b}xbf16>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %c = linalg.generic {{indexing_maps = [#a, affine_map<(m, n, k) -> ({order})>, #c],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{m}x{k}xbf16>, tensor<{b}xbf16>) outs(%start : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: bf16, %y: bf16, %o: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> tensor<{m}x{n}xf32>
  return %c : tensor<{m}x{n}xf32>
}}
"""


def text(m: int, n: int, k: int, transposed: bool) -> str:
    b, order = (f"{n}x{k}", "n, k") if transposed else (f"{k}x{n}", "k, n")
    return TEXT.format(m=m, n=n, k=k, b=b, order=order)


@pytest.fixture(autouse=True)
def libtorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "HOST", structs.replace(kernels.HOST, vendor="libtorch"))


@pytest.mark.parametrize("transposed", [False, True])
def test_bf16_by_cblas(transposed: bool) -> None:
    torch.manual_seed(0)
    m, n, k = 70, 66, 130
    kernel = kernels.CompiledKernel(text(m, n, k, transposed))
    assert 'call void @"vendor!libtorch!cblas_gemm_bf16bf16f32"' in kernel.llvm
    a, b = torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()
    got = kernel(a, b.t().contiguous() if transposed else b, results=[torch.full((m, n), 7.0)])
    torch.testing.assert_close(got, a.float() @ b.float(), rtol=1e-4, atol=1e-4)
