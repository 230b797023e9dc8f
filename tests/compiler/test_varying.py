"""What a size depends on, operator by operator: from one recording where it is marked, surer from two."""

from __future__ import annotations

import pytest

from mlirdev.compiler.varying import with_varying
from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Dim, Graph, Node, Ref, Size, Sym, TensorSpec
from mlirdev.sizes import add, mul

S = Sym(0)


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, DType.f32)


def graph(op: str, inputs: list[TensorSpec], args: tuple[Arg, ...], result: TensorSpec) -> Graph:
    return Graph(tuple(inputs), (), (Node(op, args, (result,)),), (len(inputs),))


def result(*graphs: Graph) -> tuple[Dim, ...]:
    """The result's dims where dim 0 of input 0 varies."""
    wide, _ = with_varying(graphs, [(0, 0)])
    wide.verify()
    return wide.nodes[0].results[0].shape


def sizes(*shape: int) -> tuple[Arg, ...]:
    return tuple(map(Size, shape))


def view(old: tuple[int, ...], new: tuple[int, ...]) -> Graph:
    return graph("aten.view.default", [spec(*old)], (Ref(0), sizes(*new)), spec(*new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((6, 16, 8), (96, 8), (mul(S, 16), 8)),
        ((6, 16, 8), (6, 128), (S, 128)),
        ((6, 16, 8), (1, 6, 1, 16, 2, 4), (1, S, 1, 16, 2, 4)),
        ((6, 1), (6,), (S,)),
        ((12, 8), (2, 6, 8), (2, 6, 8)),  # nothing says which part grows
        ((4, 4, 4), (4, 16), (S, 16)),
    ],
)
def test_views_share_factors_out(old: tuple[int, ...], new: tuple[int, ...], expected: tuple[Dim, ...]) -> None:
    found = result(view(old, new))
    assert found == expected if old[0] != 12 else S not in found[1:]


def test_two_recordings_tell_which_part_of_a_view_grows() -> None:
    assert result(view((12, 8), (2, 6, 8)), view((18, 8), (2, 9, 8))) == (2, Sym(1), 8)
    assert result(view((12, 8), (2, 6, 8)), view((18, 8), (3, 6, 8))) == (Sym(1), 6, 8)


def test_concatenation_adds() -> None:
    cat = graph("aten.cat.default", [spec(5, 3), spec(1, 3)], ((Ref(0), Ref(1)), 0), spec(6, 3))
    assert result(cat) == (add(S, 1), 3)


def test_places_near_the_end_are_counted_from_it() -> None:
    def cut(length: int, start: int, end: int) -> Graph:
        args = (Ref(0), 0, Size(start), Size(end), 1)
        return graph("aten.slice.Tensor", [spec(length, 3)], args, spec(end - start, 3))

    assert result(cut(64, 0, 63)) == (add(S, -1), 3)
    assert result(cut(64, 60, 64)) == (4, 3)
    assert result(cut(64, 0, 4)) == (4, 3)
    wide, _ = with_varying([cut(64, 60, 64)], [(0, 0)])
    assert wide.nodes[0].args[2:4] == (Size(add(S, -4)), Size(S))


@pytest.mark.parametrize(
    ("op", "shapes", "expected"),
    [
        ("aten.mm.default", [(8, 4), (4, 8)], (S, 8)),
        ("aten.linear.default", [(8, 5, 4), (8, 4)], (S, 5, 8)),
        ("aten.bmm.default", [(8, 8, 4), (8, 4, 8)], (S, 8, 8)),
        ("aten.add.Tensor", [(8, 8), (8, 8)], (S, 8)),
        ("aten.embedding.default", [(8, 5), (8, 7)], (8, 7, 5)),
    ],
)
def test_equal_sizes_are_told_apart_by_their_place(
    op: str, shapes: list[tuple[int, ...]], expected: tuple[Dim, ...]
) -> None:
    shape = tuple(8 if dim is S else dim for dim in expected)
    node = graph(op, [spec(*s) for s in shapes], (Ref(0), Ref(1)), TensorSpec(shape, DType.f32))
    if op == "aten.embedding.default":
        node = Graph((node.inputs[1], node.inputs[0]), (), (Node(op, (Ref(1), Ref(0)), node.nodes[0].results),), (2,))
        assert result(node) == (S, 7, 5)
    else:
        assert result(node) == expected


def test_results_line_up_where_more_sizes_agree() -> None:
    total = graph("aten.sum.dim_IntList", [spec(2, 2, 4, 6)], (Ref(0), (3,), False, None), spec(2, 2, 4))
    assert result(total) == (S, 2, 4)
    total = graph("aten.sum.dim_IntList", [spec(4, 2, 4)], (Ref(0), (0,), False, None), spec(2, 4))
    assert result(total) == (2, 4)


def test_a_window_over_a_varying_dim_makes_a_size_of_its_own() -> None:
    pool = graph("aten.max_pool2d.default", [spec(9, 7)], (Ref(0),), spec(4, 7))
    assert result(pool) == (Sym(1), 7)


def test_what_is_counted_to_is_a_dim_or_the_next() -> None:
    inputs = [spec(47, 3)]
    node = Node("aten.arange.start", (*sizes(47, 48), None, None, None, None), (spec(1),))
    wide, _ = with_varying([Graph(tuple(inputs), (), (node,), (1,))], [(0, 0)])
    assert wide.nodes[0].args[:2] == (Size(S), Size(add(S, 1)))


def test_one_length_in_two_inputs_is_one_sym() -> None:
    both = graph("aten.add.Tensor", [spec(6, 2), spec(6, 2)], (Ref(0), Ref(1)), spec(6, 2))
    wide, syms = with_varying([both], [(0, 0), (1, 0)])
    assert syms == (6,)
    assert wide.inputs[1].shape == (S, 2)
