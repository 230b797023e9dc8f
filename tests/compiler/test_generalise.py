"""Sizes that differ become syms; whatever is generalised covers both graphs that it came from."""

from hypothesis import given
from hypothesis import strategies as st

from mlirdev.compiler.generalise import Known, generalise, match, widened
from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, Size, Sym, TensorSpec
from mlirdev.sizes import mul


def view_graph(batch: int, time: int, width: int = 8) -> Graph:
    """[batch, time, width] viewed as [batch*time, width]."""
    source = TensorSpec((batch, time, width), DType.f32)
    result = TensorSpec((batch * time, width), DType.f32)
    node = Node("aten.view.default", (Ref(0), (Size(batch * time), Size(width))), (result,))
    return Graph(inputs=(source,), scalars=(), nodes=(node,), outputs=(1,))


def test_a_size_that_follows_from_another_is_arithmetic_on_it() -> None:
    wide, syms = generalise(Known(view_graph(2, 16)), view_graph(3, 16))
    assert syms == (3,)
    assert wide.inputs[0].shape == (Sym(0), 16, 8)
    assert wide.nodes[0].results[0].shape == (mul(Sym(0), 16), 8)
    assert wide.nodes[0].args[1] == (Size(mul(Sym(0), 16)), Size(8))
    wide.verify()


def test_a_constant_that_equals_a_varying_size_stays_constant() -> None:
    wide, _ = generalise(Known(view_graph(8, 16)), view_graph(3, 16))
    assert wide.inputs[0].shape == (Sym(0), 16, 8)


@given(st.lists(st.tuples(st.integers(2, 5), st.integers(2, 5)), min_size=2, max_size=5))
def test_what_was_seen_is_covered(sizes: list[tuple[int, int]]) -> None:
    graphs = [view_graph(b, t) for b, t in sizes]
    known = Known(graphs[0])
    for graph in graphs[1:]:
        if match(known.graph, graph) is None:
            known = Known(*generalise(known, graph))
            assert match(known.graph, graph) == known.syms
    for graph in graphs:
        assert match(known.graph, graph) is not None


def test_a_sym_has_one_value() -> None:
    wide, _ = generalise(Known(view_graph(2, 2)), view_graph(3, 3))
    assert match(wide, view_graph(4, 4)) == (4,)
    assert match(wide, view_graph(4, 5)) is None


def test_a_graph_whose_product_differs_does_not_match() -> None:
    wide, _ = generalise(Known(view_graph(2, 16)), view_graph(3, 16))
    assert match(wide, view_graph(5, 16)) == (5,)
    assert match(wide, view_graph(5, 17)) is None


def test_a_wrong_guess_is_put_right_by_the_next_recording() -> None:
    """The width equals the marked batch by chance: with two recordings it is told apart."""
    first = view_graph(8, 3)
    guess = widened(first, None, [], [(0, 0), (0, 2)])
    assert guess.graph.inputs[0].shape == (Sym(0), 3, Sym(0))
    assert match(guess.graph, view_graph(9, 3)) is None
    wide = widened(view_graph(9, 3), Known(guess.graph, guess.syms, guessed=True), [], [])
    assert wide.graph.inputs[0].shape == (Sym(0), 3, Sym(1))
    assert match(wide.graph, view_graph(11, 3)) == (11, 8)


def test_a_batch_of_one_tells_which_dims_grow() -> None:
    wide = widened(view_graph(2, 16), None, [view_graph(1, 16)], [])
    assert wide.syms == (2,)
    assert match(wide.graph, view_graph(7, 16)) == (7,)


def test_other_graphs_say_nothing_about_dims() -> None:
    assert widened(view_graph(1, 16), None, [view_graph(2, 16)], []).graph.syms == 0
    source = TensorSpec((1, 16, 8), DType.f32)
    other = Graph((source,), (), (Node("aten.relu.default", (Ref(0),), (source,)),), (1,))
    assert widened(view_graph(2, 16), None, [other], []).graph.syms == 0


def test_sizes_of_0_and_1_are_not_inputs() -> None:
    assert widened(view_graph(1, 16), None, [], [(0, 0)]).graph.syms == 0
