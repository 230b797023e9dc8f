"""Special functions as linalg: one loop nest each, with the control flow that numbers of steps known when run take."""

from __future__ import annotations

import pytest
import torch

from mlirdev import importer
from mlirdev.dtypes import DType
from mlirdev.graph import Graph, Node, Ref, TensorSpec

from .execute import Program

VECTOR = TensorSpec((4,), DType.f32)


def linalg(context, op: str, operands: int, spec: TensorSpec = VECTOR) -> str:
    args = tuple(Ref(i) for i in range(operands))
    graph = Graph((spec,) * operands, (), (Node(op, args, (spec,)),), (operands,))
    return str(importer.import_graph(graph, context))


@pytest.mark.parametrize(
    ("op", "operands", "flow"),
    [
        ("aten.lgamma.default", 1, set()),
        ("aten.special_bessel_j0.default", 1, set()),
        ("aten.special_erfcx.default", 1, set()),
        ("aten.digamma.default", 1, {"scf.for"}),
        ("aten.special_zeta.default", 2, {"scf.while"}),
        ("aten.special_legendre_polynomial_p.default", 2, {"scf.while"}),
        ("aten.igamma.default", 2, {"scf.while", "scf.if"}),
    ],
)
def test_one_nest(context, op, operands, flow) -> None:
    text = linalg(context, op, operands)
    assert text.count("linalg.generic") == 1
    assert {name for name in ("scf.for", "scf.while", "scf.if") if name in text} == flow


def test_halves_are_computed_in_f32(context) -> None:
    text = linalg(context, "aten.special_i1e.default", 1, TensorSpec((4,), DType.bf16))
    assert "arith.extf" in text
    assert "arith.truncf" in text
    products = [line for line in text.splitlines() if "arith.mulf" in line]
    assert products
    assert not any("bf16" in line for line in products)


def test_tables_are_constants_of_the_body(context) -> None:
    assert "tensor<700xf64>" in linalg(context, "aten.special_erfcx.default", 1)
    assert "tensor<625xf32>" in linalg(context, "aten.igamma.default", 2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_no_dims_and_no_elements(context, shape) -> None:
    spec = TensorSpec(shape, DType.f64)
    graph = Graph((spec,), (), (Node("aten.lgamma.default", (Ref(0),), (spec,)),), (1,))
    x = torch.full(shape, 0.3, dtype=torch.float64)
    torch.testing.assert_close(Program(graph, context)([x])[0], x.lgamma())
