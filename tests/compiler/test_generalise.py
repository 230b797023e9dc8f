"""Sizes that differ become syms; whatever is generalised covers both graphs that it came from."""

from hypothesis import given
from hypothesis import strategies as st

from mlirdev.compiler.generalise import generalise, match
from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, Size, Sym, TensorSpec


def view_graph(batch: int, time: int, width: int = 8) -> Graph:
    """[batch, time, width] viewed as [batch*time, width]."""
    source = TensorSpec((batch, time, width), DType.f32)
    result = TensorSpec((batch * time, width), DType.f32)
    node = Node("aten.view.default", (Ref(0), (Size(batch * time), Size(width))), (result,))
    return Graph(inputs=(source,), scalars=(), nodes=(node,), outputs=(1,))


def test_positions_that_varied_together_share_a_sym() -> None:
    wide, syms = generalise(view_graph(2, 16), view_graph(3, 16))
    assert syms == (3, 48)
    assert wide.inputs[0].shape == (Sym(0), 16, 8)
    assert wide.nodes[0].results[0].shape == (Sym(1), 8)
    assert wide.nodes[0].args[1] == (Size(Sym(1)), Size(8))
    wide.verify()


def test_a_constant_that_equals_a_varying_size_stays_constant() -> None:
    wide, _ = generalise(view_graph(8, 16), view_graph(3, 16))
    assert wide.inputs[0].shape == (Sym(0), 16, 8)


@given(st.lists(st.tuples(st.integers(2, 5), st.integers(2, 5)), min_size=2, max_size=5))
def test_what_was_seen_is_covered(sizes: list[tuple[int, int]]) -> None:
    graphs = [view_graph(b, t) for b, t in sizes]
    wide = graphs[0]
    for graph in graphs[1:]:
        if match(wide, graph) is None:
            wide, syms = generalise(wide, graph)
            assert match(wide, graph) == syms
    for graph in graphs:
        assert match(wide, graph) is not None


def test_a_sym_has_one_value() -> None:
    wide, _ = generalise(view_graph(2, 2), view_graph(3, 3))
    assert match(wide, view_graph(4, 4)) == (4, 16)
    assert match(wide, view_graph(4, 5)) is None
