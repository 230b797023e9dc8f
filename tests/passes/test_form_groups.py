"""Kernel groups and plans, from linalg text alone: how many kernels, which, on which slots."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Sym, TensorSpec
from mlirdev.passes import Formed, form_groups, run_graph_pipeline
from mlirdev.passes.kernel_source import KINDS
from mlirdev.passes.lower import kernel_context
from mlirdev.plan import DimArg, Launch, ScalarArg, SlotArg
from mlirdev.target import load_target
from tests.passes.linalg_text import Program, Value
from tests.passes.plan_execution import check_plan

TARGET = load_target("host")


def form(text: str, graph: Graph | None = None, syms: tuple[int, ...] = ()) -> Formed:
    with kernel_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
    run_graph_pipeline(module, TARGET)
    formed = form_groups(module, TARGET, graph)
    check_plan(formed, syms)
    for source in formed.kernels.values():
        assert source.kind in KINDS
        with kernel_context(), ir.Location.unknown():
            assert ir.Module.parse(source.text).operation.verify()
    return formed


def form_program(program: Program, *outputs: Value) -> Formed:
    return form(program.text(list(outputs)))


def kinds(formed: Formed) -> list[str]:
    """The kinds of the launches, in order."""
    return [formed.kernels[launch.kernel].kind for launch in formed.plan.launches if isinstance(launch, Launch)]


def softmax(p: Program, x: Value) -> Value:
    e = p.elementwise("tanh", p.elementwise("sub", x, p.reduce("max", x, 1)))
    return p.elementwise("mul", e, p.reduce("sum", e, 1))


def layer_norm(p: Program, x: Value, scale: Value, shift: Value) -> Value:
    centred = p.elementwise("sub", x, p.reduce("sum", x, 1))
    variance = p.reduce("sum", p.elementwise("mul", centred, centred), 1)
    y = p.elementwise("mul", centred, p.elementwise("tanh", variance))
    return p.elementwise("add", p.elementwise("mul", y, scale), shift)


def linear(p: Program, x: Value, weight: Value, bias: Value) -> Value:
    """Weight as [out, in]."""
    return p.elementwise("add", p.matmul(x, p.transpose(weight)), bias)


# --- which ops share a kernel ---------------------------------------------------------------------


def test_chain_of_elementwise_ops_is_one_kernel() -> None:
    p = Program()
    x, y = p.input(6, 5), p.input(6, 5)
    formed = form_program(p, p.elementwise("tanh", p.elementwise("mul", p.elementwise("add", x, y), y)))
    assert kinds(formed) == ["elementwise"]


def test_softmax_and_layer_norm_are_one_kernel_each() -> None:
    p = Program()
    x = p.input(6, 5)
    assert kinds(form_program(p, softmax(p, x))) == ["row"]
    q = Program()
    assert kinds(form_program(q, layer_norm(q, q.input(6, 5), q.input(5), q.input(5)))) == ["row"]


def test_bias_and_activation_are_the_epilogue_of_a_matmul() -> None:
    p = Program()
    x, residual = p.input(6, 5), p.input(6, 7)
    y = p.elementwise("tanh", linear(p, x, p.input(7, 5), p.input(7)))
    formed = form_program(p, p.elementwise("add", y, residual))
    assert kinds(formed) == ["contraction"]


def test_norm_is_not_recomputed_inside_of_a_matmul() -> None:
    p = Program()
    h = layer_norm(p, p.input(6, 5), p.input(5), p.input(5))
    formed = form_program(p, linear(p, h, p.input(7, 5), p.input(7)))
    assert kinds(formed) == ["row", "contraction"]


def test_epilogue_computes_what_only_it_reads() -> None:
    p = Program()
    x, w, v = p.input(6, 5), p.input(5, 7), p.input(5, 7)
    gate = p.elementwise("tanh", p.matmul(x, w))
    assert kinds(form_program(p, p.elementwise("mul", gate, p.matmul(x, v)))) == ["contraction", "contraction"]


def test_optimizer_update_of_one_parameter_is_one_kernel_with_three_results() -> None:
    p = Program()
    weight, grad, first, second = (p.input(6, 5) for _ in range(4))
    m = p.elementwise("add", first, grad)
    v = p.elementwise("add", second, p.elementwise("mul", grad, grad))
    new = p.elementwise("sub", weight, p.elementwise("mul", m, p.elementwise("tanh", v)))
    formed = form_program(p, new, m, v)
    assert kinds(formed) == ["elementwise"]
    assert len(formed.plan.launches[0].results) == 3


def test_siblings_that_read_the_same_tensor_share_a_sweep() -> None:
    p = Program()
    x = p.input(6, 5)
    formed = form_program(p, p.elementwise("tanh", x), p.reduce("sum", x, 1), p.reduce("max", x, 1))
    assert kinds(formed) == ["row"]


def test_siblings_of_other_tensors_stay_apart() -> None:
    p = Program()
    lr = p.input()
    formed = form_program(p, *(p.elementwise("mul", p.input(6, 5), lr) for _ in range(3)))
    assert kinds(formed) == ["elementwise"] * 3
    assert len(formed.kernels) == 1


def test_column_sums_share_a_kernel() -> None:
    p = Program()
    x, y = p.input(6, 5), p.input(6, 5)
    formed = form_program(p, p.reduce("sum", x, 0), p.reduce("sum", p.elementwise("mul", x, y), 0))
    assert kinds(formed) == ["column"]


def test_no_join_closes_a_cycle() -> None:
    # The sum of all of `a` lies between `a` and `b`: by a matmul, which no elementwise kernel holds.
    p = Program()
    x = p.input(5, 5)
    a = p.elementwise("tanh", x)
    b = p.elementwise("add", a, p.elementwise("tanh", p.matmul(a, x)))
    c = p.elementwise("mul", b, p.elementwise("neg", p.matmul(b, a)))
    assert len(kinds(form_program(p, c))) >= 3


def test_concat_and_slices() -> None:
    p = Program()
    x = p.input(6, 5)
    parts = [p.elementwise("tanh", p.rows(x, 0, 3)), p.elementwise("neg", p.rows(x, 3, 6))]
    formed = form_program(p, p.elementwise("tanh", p.concat(*parts)))
    assert kinds(formed)[-1] == "other"


# --- equal layers ---------------------------------------------------------------------------------


def test_equal_layers_share_kernels() -> None:
    p = Program()
    x = p.input(6, 5)
    for _ in range(4):
        h = layer_norm(p, x, p.input(5), p.input(5))
        x = p.elementwise("add", x, linear(p, h, p.input(5, 5), p.input(5)))
    formed = form_program(p, x)
    assert len(formed.plan.launches) == 8
    assert len(formed.kernels) == 2


def test_equal_work_on_pieces_of_a_tensor_is_one_kernel() -> None:
    p = Program()
    x = p.input(64, 16)
    y = p.elementwise("tanh", p.matmul(x, p.input(16, 16)))
    w = p.input(16, 16)
    pieces = [p.matmul(p.rows(y, start, start + 8), w) for start in (0, 8, 56)]
    formed = form_program(p, *pieces)
    assert len(formed.plan.launches) == 4
    assert len(formed.kernels) == 2
    offsets = [a.offset for launch in formed.plan.launches for a in launch.args if isinstance(a, SlotArg)]  # type: ignore[union-attr]
    assert sorted(offsets)[-2:] == [8 * 16 * 4, 56 * 16 * 4]


def test_slice_that_starts_where_no_buffer_may_is_part_of_the_kernel() -> None:
    p = Program()
    x = p.input(6, 5)
    formed = form_program(p, p.elementwise("tanh", p.rows(x, 1, 3)))
    assert formed.plan.launches[0].args == (SlotArg(0),)  # type: ignore[union-attr]


def test_text_does_not_depend_on_the_caller_and_ordinals_map_to_nodes() -> None:
    p, q = Program(), Program()
    q.count = 70
    (a,) = form_program(p, p.elementwise("tanh", p.input(6, 5))).plan.launches
    (b,) = form_program(q, q.elementwise("tanh", q.input(6, 5))).plan.launches
    assert isinstance(a, Launch)
    assert isinstance(b, Launch)
    assert a.kernel == b.kernel
    assert [n + 70 for n in a.nodes] == list(b.nodes)


# --- slots ----------------------------------------------------------------------------------------


def test_inputs_views_and_duplicates_as_outputs() -> None:
    p = Program()
    x = p.input(6, 5)
    y = p.elementwise("tanh", x)
    plan = form_program(p, x, p.flatten(x), y, y, p.flatten(y)).plan
    assert plan.outputs[0] == plan.outputs[1] == plan.inputs[0]
    assert plan.outputs[2] == plan.outputs[3] == plan.outputs[4]
    assert len(plan.launches) == 1


def test_nothing_to_do() -> None:
    p = Program()
    x = p.input(6, 5)
    formed = form_program(p, x)
    assert formed.plan.launches == ()
    assert formed.kernels == {}


def test_returned_slice_transpose_and_constant_are_copied_out() -> None:
    p = Program()
    x = p.input(6, 5)
    plan = form_program(p, p.rows(x, 1, 3), p.transpose(x), p.zeros(3, 2)).plan
    assert len(set(plan.outputs)) == 3
    assert plan.inputs[0] not in plan.outputs


def test_empty_results_need_no_launch() -> None:
    plan = form_program(p := Program(), p.elementwise("tanh", p.input(0, 5))).plan
    assert plan.launches == ()
    assert plan.slots[plan.outputs[0]].shape == (0, 5)


def test_order_frees_memory_early() -> None:
    # Ten large temporaries, each summed to a scalar: a sum runs before the next temporary is made.
    p = Program()
    w = p.input(5, 5)
    sums = [p.reduce("sum", p.flatten(p.matmul(p.input(6, 5), w)), 0) for _ in range(4)]
    assert kinds(form_program(p, *sums)) == ["contraction", "row"] * 4


# --- scalars and run-time sizes -------------------------------------------------------------------

DYNAMIC = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %s: f64, %k: i64, %n: i64)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %f = arith.truncf %s : f64 to f32
  %i = arith.sitofp %k : i64 to f32
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %f : f32
    %1 = arith.addf %0, %q : f32
    %2 = arith.addf %1, %i : f32
    linalg.yield %2 : f32
  } -> tensor<?x8xf32>
  %both = tensor.concat dim(0) %a, %a : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %a, %both : tensor<?x8xf32>, tensor<?x8xf32>
}
"""
ROWS = TensorSpec((Sym(0), 8), DType.f32)
DYNAMIC_GRAPH = Graph((ROWS, ROWS), ("float", "bool"), (), (0,), syms=1)


def test_scalars_and_sizes_are_launch_arguments() -> None:
    formed = form(DYNAMIC, DYNAMIC_GRAPH, syms=(5,))
    plan = formed.plan
    assert (plan.scalars, plan.syms) == (("float", "bool"), 1)
    first = plan.launches[0]
    assert isinstance(first, Launch)
    assert first.args == (SlotArg(0), SlotArg(1), ScalarArg(0), ScalarArg(1), DimArg(Sym(0)))
    # One size serves both buffers and the result.
    assert formed.kernels[first.kernel].signature.dims == (4, 4, 4)
    assert str(plan.slots[plan.outputs[1]].shape[0]) == "add(s0, s0)"


def test_run_time_size_without_a_graph_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no graph was given"):
        form(DYNAMIC)


RESOURCE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense_resource<data> : tensor<4xf32>
  %0 = linalg.add ins(%x, %c : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
{-# dialect_resources: { builtin: { data: "0x040000000000803F0000004000004040000080BF" } } #-}
"""


def test_constants_keep_their_data() -> None:
    (source,) = form(RESOURCE).kernels.values()
    assert "0x040000000000803F0000004000004040000080BF" in source.text


def test_checks_without_results_are_kept() -> None:
    formed = form(
        """
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xi64>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c9 = arith.constant 9 : i64
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} ins(%x : tensor<4xi64>) {
  ^bb0(%a: i64):
    %ok = arith.cmpi slt, %a, %c9 : i64
    cf.assert %ok, "index must be smaller than dim size"
    linalg.yield
  }
  return %y : tensor<4xf32>
}
"""
    )
    (launch,) = formed.plan.launches
    assert isinstance(launch, Launch)
    assert launch.results == ()
    assert "cf.assert" in formed.kernels[launch.kernel].text
