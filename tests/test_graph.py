from __future__ import annotations

import pickle

import pytest

from mlirdev.dtypes import DType
from mlirdev.errors import InternalError
from mlirdev.graph import Graph, Node, Ref, ScalarRef, Size, Sym, TensorSpec


def spec(*shape: int | Sym) -> TensorSpec:
    return TensorSpec(shape, DType.f32)


def sample(rows: int | Sym = 3, syms: int = 0) -> Graph:
    """view(x, [rows, 4]) + s"""
    return Graph(
        inputs=(spec(rows, 2, 2),),
        scalars=("float",),
        nodes=(
            Node("aten.view.default", (Ref(0), (Size(rows), Size(4))), (spec(rows, 4),)),
            Node("aten.add.Scalar", (Ref(1), ScalarRef(0), 1), (spec(rows, 4),)),
        ),
        outputs=(2,),
        syms=syms,
    )


def test_values_are_numbered_inputs_first() -> None:
    graph = sample()
    assert graph.first_result == (1, 2)
    assert graph.specs == (spec(3, 2, 2), spec(3, 4), spec(3, 4))
    assert list(graph.nodes[1].operands()) == [1]


def test_graphs_are_values() -> None:
    assert sample() == sample()
    assert hash(sample()) == hash(pickle.loads(pickle.dumps(sample())))
    assert sample(3) != sample(5)


def test_ints_are_all_sizes_in_the_order_of_map_sizes() -> None:
    assert sample(7).ints == (7, 2, 2, 7, 4, 7, 4, 7, 4)
    assert sample(7).map_sizes(lambda size: 9 if size == 7 else size) == sample(9)


def test_the_skeleton_leaves_out_sizes_but_not_zero_and_one() -> None:
    assert sample(3).skeleton == sample(5).skeleton
    assert sample(3).skeleton != sample(1).skeleton
    assert sample(0).skeleton != sample(1).skeleton
    assert sample(-2).skeleton not in (sample(3).skeleton, sample(-1).skeleton)
    assert sample(2**63 - 1).skeleton != sample(3).skeleton
    assert sample(Sym(0), 1).skeleton == sample(3).skeleton


def test_verify_accepts_what_is_sound() -> None:
    sample().verify()
    sample(Sym(0), 1).verify()


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (Graph((), (), (Node("aten.neg.default", (Ref(0),), (spec(1),)),), (0,)), "reads %0 before it is defined"),
        (Graph((spec(1),), (), (Node("a", (ScalarRef(0),), (spec(1),)),), (0,)), "reads scalar 0 of 0"),
        (Graph((spec(1),), (), (), (1,)), "output %1"),
        (sample(Sym(0), 0), "size s0 of 0 syms"),
    ],
)
def test_verify_names_what_is_wrong(graph: Graph, said: str) -> None:
    with pytest.raises(InternalError, match=said):
        graph.verify()


def test_the_printed_graph_reads_like_ir() -> None:
    assert str(sample(Sym(0), 1)).splitlines() == [
        "%0: s0x2x2xf32 = input",
        "$0: float = scalar",
        "s0 = size",
        "%1: s0x4xf32 = aten.view.default(%0, [s0, #4])  // n0",
        "%2: s0x4xf32 = aten.add.Scalar(%1, $0, 1)  // n1",
        "return %2",
    ]
