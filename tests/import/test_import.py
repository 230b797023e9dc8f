"""import_graph: arguments, locations, scalars, sizes as inputs, checks, failures; and our own operators."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mlirdev import importer
from mlirdev.dtypes import DType
from mlirdev.errors import LoweringError
from mlirdev.graph import Graph, Node, Ref, ScalarRef, Size, Sym, TensorSpec

from .execute import Program

F32, I64 = DType.f32, DType.i64
MATRIX = TensorSpec((2, 2), F32)


def single(
    op: str, args: tuple, results: tuple[TensorSpec, ...], inputs: tuple[TensorSpec, ...], scalars: tuple = ()
) -> Graph:
    first = len(inputs)
    graph = Graph(inputs, scalars, (Node(op, args, results),), tuple(range(first, first + len(results))))
    graph.verify()
    return graph


@pytest.mark.parametrize(
    ("scalars", "other", "values"), [(("float",), ScalarRef(0), [2.0]), (("int",), ScalarRef(0), [2]), ((), 2, [])]
)
def test_seed(context, scalars, other, values) -> None:
    graph = single("aten.add.Tensor", (Ref(0), other, 1), (MATRIX,), (MATRIX,), scalars)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(Program(graph, context)([x], values)[0], x + 2)


def test_signature_and_locations(context) -> None:
    spec = TensorSpec((Sym(0), 3), F32)
    nodes = (Node("aten.exp.default", (Ref(0),), (spec,)), Node("aten.mul.Tensor", (Ref(1), ScalarRef(0)), (spec,)))
    module = importer.import_graph(Graph((spec,), ("float", "bool"), nodes, (2,), syms=1), context)
    text = module.operation.get_asm(enable_debug_info=True)
    assert "func.func @main(%arg0: tensor<?x3xf32>" in text
    assert "%arg1: f64" in text
    assert "%arg2: i64" in text
    assert "%arg3: i64" in text
    assert 'loc("n0")' in text
    assert 'loc("n1")' in text
    assert "sym_dims = [array<i64: 0, -1>]" in text
    assert "tensor.dim" not in text


def test_every_pass_is_observed(context) -> None:
    seen: list[tuple[str, str]] = []
    graph = single("aten.exp.default", (Ref(0),), (MATRIX,), (MATRIX,))
    importer.import_graph(graph, context, lambda stage, name, text, seconds: seen.append((stage, name)))
    assert seen[0] == ("torch", "import")
    assert {stage for stage, _ in seen} == {"torch", "linalg"}
    assert len(seen) > 15


def test_unknown_operator_is_refused_with_its_node(context) -> None:
    graph = single("lib.unknown.default", (Ref(0),), (MATRIX,), (MATRIX,))
    assert importer.unsupported(graph.nodes[0], graph.specs) == "no lowering"
    with pytest.raises(LoweringError) as caught:
        importer.import_graph(graph, context)
    assert caught.value.nodes == (0,)


def test_limits() -> None:
    index = single("aten.index.Tensor", (Ref(0), (Ref(1),)), (MATRIX,), (MATRIX, TensorSpec((2,), DType.i1)))
    assert "bool index" in (importer.unsupported(index.nodes[0], index.specs) or "")
    spec = TensorSpec((2,), DType.c64)
    complex_ = single("aten.erf.default", (Ref(0),), (spec,), (spec,))
    assert "complex" in (importer.unsupported(complex_.nodes[0], complex_.specs) or "")


def test_registered_decomposition(context) -> None:
    importer.register_decomposition("lib.double.default", lambda rw, node: rw.tensor(node.args[0]) * 2.0)
    graph = single("lib.double.default", (Ref(0),), (MATRIX,), (MATRIX,))
    x = torch.randn(2, 2)
    assert torch.equal(Program(graph, context)([x])[0], x * 2)


def test_checks_of_indices_stay_with_their_node(context) -> None:
    inputs = (TensorSpec((4, 3), F32), TensorSpec((5,), I64))
    graph = single("aten.embedding.default", (Ref(0), Ref(1), -1, False, False), (TensorSpec((5, 3), F32),), inputs)
    text = importer.import_graph(graph, context).operation.get_asm(enable_debug_info=True, use_local_scope=True)
    checks = [line for line in text.splitlines() if "cf.assert" in line]
    assert len(checks) == 1
    assert all('loc("n0")' in line for line in checks)


def test_philox(context) -> None:
    """Against the reference algorithm, word by word, over a carry of the counter."""
    args = (ScalarRef(0), ScalarRef(1), (Size(3), Size(5)))
    graph = single("mlirdev.philox", args, (TensorSpec((3, 5), I64),), (), ("int", "int"))
    for seed, offset in ((0, 0), (12345678901234, 7), (2**63 - 1, 2**32 - 2)):
        got = Program(graph, context)([], [seed, offset])[0].flatten().tolist()
        assert got == philox_words(seed, offset, 15)


def test_philox_known_answer() -> None:
    """The first block of the published test vectors: all zero."""
    assert philox_words(0, 0, 4) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def philox_words(seed: int, offset: int, count: int) -> list[int]:
    words: list[int] = []
    for block in range(offset, offset + (count + 3) // 4):
        c, k = [block & 0xFFFFFFFF, block >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return words[:count]


def sizes(*values: int) -> tuple[Size, ...]:
    return tuple(map(Size, values))


def test_strided_read_and_write(context) -> None:
    x, source = torch.randn(4, 6), torch.randn(3, 4)
    inputs = (TensorSpec((4, 6), F32), TensorSpec((3, 4), F32))
    read = single(
        "mlirdev.strided_read",
        (Ref(0), sizes(3, 2, 4), sizes(1, 0, 6), Size(2)),
        (TensorSpec((3, 2, 4), F32),),
        inputs[:1],
    )
    assert torch.equal(Program(read, context)([x])[0], x.as_strided((3, 2, 4), (1, 0, 6), 2))
    write = single("mlirdev.strided_write", (Ref(0), Ref(1), sizes(3, 4), sizes(1, 6), Size(2)), inputs[:1], inputs)
    before, expected = x.clone(), x.clone()
    expected.as_strided((3, 4), (1, 6), 2).copy_(source)
    assert torch.equal(Program(write, context)([x, source])[0], expected)
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float64, torch.bfloat16])
def test_bitcast(context, dtype) -> None:
    from .execute import OURS

    x = torch.randn(4, 6)
    expected = x.view(dtype)
    result = TensorSpec(tuple(expected.shape), OURS[dtype])
    graph = single("mlirdev.bitcast", (Ref(0), OURS[dtype]), (result,), (TensorSpec((4, 6), F32),))
    assert torch.equal(Program(graph, context)([x])[0].view(torch.uint8), expected.view(torch.uint8))


def test_unused_results_and_repeated_outputs(context) -> None:
    graph = single("aten.exp.default", (Ref(0),), (MATRIX,), (MATRIX,))
    graph = replace(graph, outputs=(1, 0, 1))
    x = torch.randn(2, 2)
    got = Program(graph, context)([x])
    assert torch.allclose(got[0], x.exp())
    assert torch.equal(got[1], x)
    assert torch.equal(got[0], got[2])
