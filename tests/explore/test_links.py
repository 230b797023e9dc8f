"""From a Python line to the instruction and back, on kernels that are compiled here."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev import schema
from mlirdev.dump import bare_name
from mlirdev.explore.links import Fate, Links, Use
from mlirdev.explore.ordinals import coverage
from mlirdev.schema import Place
from tests.explore.compiled import record_of

MATMUL = """\
%0: 40x50xf32 = input
%1: 50x60xf32 = input
%2: 40x60xf32 = aten.mm.default(%0, %1)  // n0
%3: 40x60xf32 = aten.relu.default(%2)  // n1
return %3
"""
SOFTMAX = """\
%0: 40x50xf32 = input
$0: float = scalar
%1: 40x50xf32 = aten.mul.Tensor(%0, $0)  // n0
%2: 40x50xf32 = aten.alias.default(%1)  // n1
%3: 40x50xf32 = aten._softmax.default(%2, -1, False)  // n2
return %3
"""
ATTENTION = """\
%0: 2x2x16x16xf32 = input
%1: 2x2x16x16xf32 = input
%2: 2x2x16x16xf32 = input
%3: 2x2x16x16xf32, %4: 2x2x16xf32 = aten._scaled_dot_product_flash_attention_for_cpu.default(\
%0, %1, %2, 0.0, True, None, None)  // n0
return %3
"""
CONVOLUTION = """\
%0: 2x3x12x12xf32 = input
%1: 8x3x3x3xf32 = input
%2: 8xf32 = input
%3: 2x8x12x12xf32 = aten.convolution.default(%0, %1, %2, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)  // n0
%4: 2x8x12x12xf32 = aten.relu.default(%3)  // n1
return %4
"""


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Links:
    return Links(record_of(tmp_path_factory.mktemp("record"), MATMUL, SOFTMAX, MATMUL))


def pass_of(links: Links, kernel: str, stage: str, name: str) -> schema.Pass:
    return next(of for of in links.record.passes[f"kernels/{kernel}"] if (of.stage, of.name) == (stage, name))


def texts(links: Links, of: schema.Pass, use: Use, node: int) -> list[str]:
    """The lines of a kernel's stage that stand for a graph's node."""
    wanted = set(links.ordinals(use, [node]))
    lines = zip(links.record.text(of).split("\n"), links.lines(of), strict=True)
    return [line.strip().partition(" loc(")[0] for line, numbers in lines if wanted & set(numbers or ())]


def nodes(links: Links, of: schema.Pass, use: Use) -> set[int]:
    """The graph's nodes that a kernel's stage has something of."""
    planned = links.planned(use).nodes
    return {planned[k] for numbers in links.lines(of) for k in numbers or ()}


def test_a_node_is_followed_into_its_kernel(links: Links):
    use = Use("g_0", 0)
    assert links.fate("g_0", 1) == Fate((use,))
    of = pass_of(links, "contraction-0", "kernel", "input")
    assert [line for line in texts(links, of, use, 1) if "arith." in line or "linalg.yield" in line] == [
        "%4 = arith.maximumf %in, %cst : f32",
        "linalg.yield %4 : f32",
    ]
    assert [line for line in texts(links, of, use, 0) if "linalg." in line] == [
        "%1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<40x60xf32>) -> tensor<40x60xf32>",
        "%2 = linalg.matmul ins(%arg0, %arg1 : tensor<40x50xf32>, tensor<50x60xf32>) outs(%1 : tensor<40x60xf32>) "
        "-> tensor<40x60xf32>",
    ]


def test_the_body_of_a_named_op_belongs_to_it(links: Links):
    of = pass_of(links, "contraction-0", "kernel", "func.func(linalg-generalize-named-ops)")
    assert [line for line in texts(links, of, Use("g_0", 0), 0) if "arith." in line and "constant" not in line] == [
        "%6 = arith.mulf %in, %in_0 : f32",
        "%7 = arith.addf %out, %6 : f32",
    ]


def test_a_node_is_followed_to_instructions(links: Links):
    use = Use("g_0", 0)
    final = pass_of(links, "contraction-0", "ll", "optimize")
    every = links.record.text(final).split("\n")
    for node, intrinsic in enumerate(("@llvm.fmuladd.", "@llvm.maximum.")):
        calls = [line.strip() for line in every if " call " in line and intrinsic in line]
        assert calls
        assert [line for line in texts(links, final, use, node) if intrinsic in line] == calls
    assert nodes(links, pass_of(links, "contraction-0", "asm", "codegen"), use) == {0, 1}


def test_graph_stages_speak_of_nodes(links: Links):
    passes = links.record.passes["graphs/g_0"]
    for of in links.stages("graphs/g_0"):
        assert {n for numbers in links.lines(of) for n in numbers or ()} == {0, 1}, of.file
    assert passes[-1].stage == "plan"


def test_a_folded_op_tells_the_pass_that_removed_it(links: Links):
    fate = links.fate("g_1", 1)
    assert fate.uses == ()
    assert fate.removed_by is not None
    assert fate.removed_by.owner == "graphs/g_1"
    before = links.stages("graphs/g_1")[fate.removed_by.index - 1]
    assert 1 in {n for numbers in links.lines(before) for n in numbers or ()}
    assert 1 not in {n for numbers in links.lines(fate.removed_by) for n in numbers or ()}
    assert fate.after == f"folded away by {bare_name(fate.removed_by.name)} ({fate.removed_by.stage})"


def test_a_node_on_the_host_says_why(links: Links):
    graph = links.record.graphs["g_0"]
    host = schema.GraphNode("aten.sort.default", "sort", [0], ["f32[4]"], host="no lowering")
    record = type(links.record)(links.record.folder, links.record.header)
    record.graphs["g_0"] = schema.Graph("g_0", [], [host], [], [], [schema.PlanLaunch("", [0], [], [])])
    assert Links(record).fate("g_0", 0) == Fate(host="no lowering")
    assert Links(record).fate("g_0", 0).after == "runs on the CPU: no lowering"
    assert graph.launches[0].kernel


def test_python_lines_and_nodes(links: Links):
    assert links.nodes_of_place[Place("model.py", 10, "forward")] == {"g_0": (0,), "g_1": (0,), "g_2": (0,)}
    assert links.nodes_of_place[Place("model.py", 12, "forward")] == {"g_1": (2,)}
    assert links.places_of_node("g_1", 2) == (Place("model.py", 12, "forward"),)


def test_a_kernel_that_is_used_twice_shows_both(links: Links):
    assert links.uses["contraction-0"] == [Use("g_0", 0), Use("g_2", 0)]
    relu = links.ordinals(Use("g_0", 0), [1])
    assert links.places_of_ordinals("contraction-0", relu) == {
        Use("g_0", 0): (Place("model.py", 11, "forward"),),
        Use("g_2", 0): (Place("model.py", 11, "forward"),),
    }


def check_linked_to_the_end(links: Links, kernel: str, share: float) -> None:
    """Every node that a kernel computes has something in every stage, and much of the assembly is linked."""
    use = links.uses[kernel][0]
    passes = links.record.passes[f"kernels/{kernel}"]
    computed = nodes(links, passes[0], use)
    for of in passes:
        assert nodes(links, of, use) == computed, of.file
    assert coverage(links.lines(passes[-1])).share > share


def test_contractions_and_rows_are_linked_to_the_end(links: Links):
    check_linked_to_the_end(links, "contraction-0", 0.4)
    check_linked_to_the_end(links, "row-1", 0.7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "kernel", "share"), [(ATTENTION, "attention-0", 0.9), (CONVOLUTION, "convolution-0", 0.8)]
)
def test_attention_and_convolutions_are_linked_to_the_end(graph: str, kernel: str, share: float, tmp_path: Path):
    check_linked_to_the_end(Links(record_of(tmp_path, graph)), kernel, share)
