"""What lower_kernel and to_llvm_ir promise besides right values: refusals instead of aborts, ordinals, lines."""

from __future__ import annotations

import pytest
import torch
from torch_mlir import ir

from mlirdev.errors import PassError
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.lower import kernel_context, lower_kernel, to_llvm_ir
from mlirdev.plan import ERROR_INDEX, Signature
from tests.passes.kernels import HOST, CompiledKernel

GATHER = """
func.func @kernel(%x: tensor<10xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32> loc("n0")
  %y = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %k = arith.index_cast %a : i64 to index loc("n1")
    %v = tensor.extract %x[%k] : tensor<10xf32> loc("n7")
    linalg.yield %v : f32 loc("n3")
  } -> tensor<4xf32> loc("n2")
  return %y : tensor<4xf32> loc("n4")
}
"""


def test_text_that_is_not_mlir_is_refused() -> None:
    with pytest.raises(PassError, match="parse"):
        lower_kernel(KernelSource("k", "other", "func.func @kernel( {", Signature((), ())), HOST)


def test_only_the_llvm_dialect_is_translated() -> None:
    with kernel_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @kernel(%x: f32) -> f32 { return %x : f32 }")
    with pytest.raises(PassError, match=r"func\.func"):
        to_llvm_ir(module)


def test_the_error_word_names_the_op() -> None:
    kernel = CompiledKernel(GATHER)
    kernel(torch.zeros(10), torch.tensor([1, 2, 99, 3]), results=[torch.empty(4)])
    assert kernel.error == (ERROR_INDEX, 7, 99, 10)


def test_ordinals_are_llvm_lines() -> None:
    text = CompiledKernel(GATHER).llvm
    assert 'DIFile(filename: "kernel"' in text
    assert "DILocation(line: 8," in text, "ordinal 7 is line 8"


def test_the_observer_sees_every_stage() -> None:
    seen: list[str] = []
    CompiledKernel(GATHER, observe=lambda stage, name, text, seconds: seen.append(f"{stage}:{name}"))
    assert "kernel:linalg-to-loops" in seen
    assert any(name.startswith("llvm:") for name in seen)
