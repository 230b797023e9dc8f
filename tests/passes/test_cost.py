"""What a launch computes and moves, from linalg: numbers known by hand."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Sym, TensorSpec
from mlirdev.passes import form_groups
from mlirdev.passes.lower import kernel_context
from mlirdev.plan import Cost, Launch
from mlirdev.target import load_target
from tests.passes.linalg_text import Program, Value


def costs(text: str, graph: Graph | None = None) -> list[Cost]:
    with kernel_context(), ir.Location.unknown():
        formed = form_groups(ir.Module.parse(text), load_target("host"), graph)
    return [launch.cost for launch in formed.plan.launches if isinstance(launch, Launch)]


def cost_of(program: Program, *outputs: Value) -> Cost:
    (cost,) = costs(program.text(list(outputs)))
    return cost


def test_matrix_product_with_epilogue() -> None:
    p = Program()
    x, y, bias = p.input(6, 5), p.input(5, 7), p.input(7)
    cost = cost_of(p, p.elementwise("tanh", p.elementwise("add", p.matmul(x, y), bias)))
    assert cost == Cost(2 * 6 * 5 * 7 + 2 * 6 * 7, 4 * (6 * 5 + 5 * 7 + 7 + 6 * 7))


def test_reduction_and_what_is_read_twice() -> None:
    p = Program()
    x = p.input(6, 5)
    total = p.reduce("sum", x, 1)
    assert cost_of(p, p.elementwise("sub", x, total)) == Cost(6 * 5 + 6 * 5, 4 * (6 * 5 + 6 * 5))


def test_movement_computes_nothing() -> None:
    p = Program()
    assert cost_of(p, p.transpose(p.input(6, 5))) == Cost(0, 4 * 2 * 6 * 5)


def test_sizes_that_are_inputs() -> None:
    text = """
    func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x3xf32>, %s: i64) -> tensor<?x3xf32> {
      %c0 = arith.constant 0 : index
      %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty(%rows) : tensor<?x3xf32>
      %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x3xf32>) -> tensor<?x3xf32>
      %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x3xf32>) outs(%fill : tensor<?x3xf32>) -> tensor<?x3xf32>
      return %y : tensor<?x3xf32>
    }"""
    specs = (TensorSpec((Sym(0), 8), DType.f32), TensorSpec((8, 3), DType.f32))
    (cost,) = costs(text, Graph(specs, (), (), (), syms=1))
    assert not cost.is_static
    for rows in (2, 50):
        assert cost.at((rows,)) == (2 * rows * 8 * 3, 4 * (rows * 8 + 8 * 3 + rows * 3))


def test_convolution_counts_its_window() -> None:
    text = """
    func.func @main(%x: tensor<2x3x8x9xf32>, %w: tensor<5x3x3x2xf32>, %o: tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32> {
      %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
        ins(%x, %w : tensor<2x3x8x9xf32>, tensor<5x3x3x2xf32>) outs(%o : tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32>
      return %y : tensor<2x5x6x8xf32>
    }"""
    (cost,) = costs(text)
    made = 2 * 5 * 6 * 8
    assert cost == Cost(2 * made * 3 * 3 * 2, 4 * (2 * 3 * 8 * 9 + 5 * 3 * 3 * 2 + 2 * made))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_its_two_products(causal: bool) -> None:
    maps = "(b, m, n, d, e) -> (b, m, d)", "(b, m, n, d, e) -> (b, n, d)", "(b, m, n, d, e) -> (b, n, e)"
    maps += "(b, m, n, d, e) -> (b, m, e)", "(b, m, n, d, e) -> (b, m)"
    text = f"""
    func.func @main(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x3xf32>, %o: tensor<2x4x3xf32>,
                    %l: tensor<2x4xf32>) -> (tensor<2x4x3xf32>, tensor<2x4xf32>) {{
      %0:2 = "mlirdev.attention"(%q, %k, %v, %o, %l) {{causal = {str(causal).lower()}, scale = 1.0 : f64,
        zero_rows = false, resultSegmentSizes = array<i32: 1, 1>,
        indexing_maps = [{", ".join(f"affine_map<{m}>" for m in maps)}]}}
        : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x3xf32>, tensor<2x4x3xf32>, tensor<2x4xf32>)
        -> (tensor<2x4x3xf32>, tensor<2x4xf32>)
      return %0#0, %0#1 : tensor<2x4x3xf32>, tensor<2x4xf32>
    }}"""
    (cost,) = costs(text)
    flops = 2 * 4 * 6 * (2 * 8 + 2 * 3 + 5)
    assert cost.flops == (flops // 2 if causal else flops)


def test_gathered_rows_are_read_not_the_table() -> None:
    text = """
    #id = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%table: tensor<1000x4xf32>, %index: tensor<3xi64>) -> tensor<3x4xf32> {
      %empty = tensor.empty() : tensor<3x4xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, #id],
        iterator_types = ["parallel", "parallel"]} ins(%index : tensor<3xi64>) outs(%empty : tensor<3x4xf32>) {
      ^bb0(%i: i64, %o: f32):
        %row = arith.index_cast %i : i64 to index
        %column = linalg.index 1 : index
        %value = tensor.extract %table[%row, %column] : tensor<1000x4xf32>
        linalg.yield %value : f32
      } -> tensor<3x4xf32>
      return %y : tensor<3x4xf32>
    }"""
    assert costs(text) == [Cost(0, 4 * 3 * 4 + 8 * 3 + 4 * 3 * 4)]
