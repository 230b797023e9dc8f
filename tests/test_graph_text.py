"""A Graph's text is the Graph: it parses to an equal one, and what isn't one is refused with its line."""

from __future__ import annotations

import pytest

from mlirdev.dtypes import DType
from mlirdev.errors import OptionError
from mlirdev.graph import Arg, Graph, Node, Ref, ScalarRef, Size, TensorSpec
from mlirdev.graph_text import parse_graph
from mlirdev.sizes import DimExpr, Sym


def spec(*shape: int | Sym | DimExpr, dtype: DType = DType.f32) -> TensorSpec:
    return TensorSpec(shape, dtype)


ARGUMENTS: list[Arg] = [
    *(None, True, False, 0, -1, 1 << 62, 1.0, -0.0, 1e-05, 1e20, float("inf"), -float("inf")),
    *(1j, 1e-05j, complex(1, -2), complex(-0.0, -1), "mean", "it's", 'say "x"', "a\\b\n", "f32", "%1, [2]"),
    *(DType.f32, DType.c64, DType.u8, Size(3), Size(-1), Size(Sym(0)), Size(DimExpr("mul", (Sym(0), 4)))),
    *(Ref(0), ScalarRef(0), (), (Ref(0), None), ((Size(1), 2), (3,))),
]


@pytest.mark.parametrize("argument", ARGUMENTS, ids=str)
def test_arguments_are_read_back(argument: Arg) -> None:
    for args in ((argument,), (argument, Ref(0), argument)):
        node = Node("aten.some.op", args, (spec(2), spec()))
        graph = Graph((spec(2),), ("float",), (node,), (1, 0, 1), 1)
        assert repr(parse_graph(str(graph))) == repr(graph)


def test_types_are_read_back() -> None:
    sizes = (Sym(0), DimExpr("max", (DimExpr("add", (Sym(1), 3)), Sym(0))), 0, 12)
    inputs = tuple(spec(*sizes, dtype=dtype) for dtype in DType)
    graph = Graph(inputs, ("bool", "int"), (), (0,), 2)
    assert parse_graph(f"# a comment\n\n{graph}\n") == graph


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%0: 2xf32 = input\n%1: 2xf33 = aten.relu.default(%0)\nreturn %1", "here:2: '2xf33' isn't a tensor's type"),
        ("%1: 2xf32 = input\nreturn %1", "here:1: the next value is %0, not %1"),
        ("%0: 2xf32 = input\n%1: 2xf32 = relu(%0)\nreturn %1", "here:2: 'relu\\(%0\\)' isn't an operator's call"),
        ("%0: 2xf32 = input\n%1: 2xf32 = aten.relu.default([%0)\nreturn %1", "here:2: '\\)' where ',' was"),
        ("%0: 2xf32 = input\n%1: 2xf32 = aten.relu.default(what)\nreturn %1", "here:2: 'what' isn't an argument"),
        ("%0: 2xf32 = input\n%1: 2xf32 = aten.relu.default(%4)\nreturn %1", "here: node n0 .* reads %4 before"),
        ("$0: text = scalar", "here:1: the next scalar is written"),
        ("%0: 2xf32 = input", "here:1: a line 'return %…' is missing"),
        ("return\nreturn", "here:2: nothing may follow"),
        ("hello", "here:1: 'hello' is neither"),
    ],
)
def test_what_is_no_graph_is_refused(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_graph(text, "here")
