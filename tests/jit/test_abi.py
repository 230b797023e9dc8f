"""The packed entry against MLIR's descriptors: order, sizes, strides, scalars, and what a wrong text raises."""

from __future__ import annotations

import numpy as np
import pytest
from native import aligned, build, call, host

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.jit import emit_object
from mlirdev.plan import BufferParam, DimParam, ScalarParam, Signature


def memref(name: str, rank: int) -> str:
    """The arguments that a memref is spread into."""
    sizes = "".join(f", i64 %{name}.n{i}" for i in range(rank))
    strides = "".join(f", i64 %{name}.s{i}" for i in range(rank))
    return f"ptr %{name}.base, ptr %{name}, i64 %{name}.offset{sizes}{strides}"


def kernel(params: str, body: str) -> str:
    head = f"{memref('error', 1)}, i64 %thread, i64 %threads, {memref('workspace', 1)}"
    return f"define void @kernel({head}, {params}) {{\n{body}\n  ret void\n}}\n"


def store_all(names: list[str], kind: str = "i64") -> str:
    """Store the values in order into %out."""
    lines = []
    for i, name in enumerate(names):
        lines += [f"  %slot{i} = getelementptr {kind}, ptr %out, i64 {i}", f"  store {kind} %{name}, ptr %slot{i}"]
    return "\n".join(lines)


def run(text: str, signature: Signature, *args: np.ndarray, workspace: int = 0, threads: int = 1) -> np.ndarray:
    error = aligned(np.zeros(4, np.int64))
    call(build(text, signature), args, error, workspace, threads)
    return error


OUT = BufferParam((32,), DType.i64)


def out() -> np.ndarray:
    return aligned(np.zeros(32, np.int64))


def test_static_sizes_and_strides_are_row_major() -> None:
    names = ["a.offset", "a.n0", "a.n1", "a.n2", "a.s0", "a.s1", "a.s2", "out.n0", "out.s0"]
    text = kernel(f"{memref('a', 3)}, {memref('out', 1)}", store_all(names))
    result = out()
    run(text, Signature((BufferParam((5, 7, 3), DType.f32),), (OUT,)), aligned(np.zeros(105, np.float32)), result)
    assert result[:9].tolist() == [0, 5, 7, 3, 21, 3, 1, 32, 1]


def test_run_time_sizes_come_from_their_dims() -> None:
    names = ["m", "a.n0", "a.n1", "a.n2", "a.s0", "a.s1", "a.s2", "n", "b.n0", "b.n1", "b.s0", "b.s1"]
    text = kernel(f"{memref('a', 3)}, i64 %m, {memref('b', 2)}, i64 %n, {memref('out', 1)}", store_all(names))
    signature = Signature(
        (
            BufferParam((None, 4, None), DType.f32),
            DimParam(),
            BufferParam((2, None), DType.f64),
            DimParam(),
        ),
        (OUT,),
        dims=(3, 1, 3),
    )
    buffers = [aligned(np.zeros(200, np.float32)), aligned(np.zeros(200))]
    result = out()
    run(text, signature, buffers[0], np.array(6), buffers[1], np.array(9), result)
    assert result[:12].tolist() == [6, 9, 4, 6, 24, 6, 1, 9, 2, 9, 9, 1]


def test_results_take_run_time_sizes_too() -> None:
    text = kernel(f"i64 %m, {memref('out', 2)}", store_all(["out.n0", "out.n1", "out.s0", "out.s1"]))
    result = out()
    run(text, Signature((DimParam(),), (BufferParam((None, 3), DType.i64),), dims=(0,)), np.array(8), result)
    assert result[:4].tolist() == [8, 3, 3, 1]


def test_empty_and_zero_dimensional_buffers() -> None:
    text = kernel(
        f"{memref('a', 2)}, {memref('b', 0)}, {memref('out', 1)}", store_all(["a.n0", "a.n1", "a.s0", "b.offset"])
    )
    signature = Signature((BufferParam((0, 5), DType.f32), BufferParam((), DType.f32)), (OUT,))
    result = out()
    run(text, signature, aligned(np.zeros(0, np.float32)), aligned(np.zeros(1, np.float32)), result)
    assert result[:4].tolist() == [0, 5, 5, 0]


def test_scalars_are_doubles_and_longs() -> None:
    body = "  %bits = bitcast double %x to i64\n" + store_all(["bits", "n", "flag"])
    text = kernel(f"double %x, i64 %n, i64 %flag, {memref('out', 1)}", body)
    signature = Signature((ScalarParam("float"), ScalarParam("int"), ScalarParam("bool")), (OUT,))
    result = out()
    run(text, signature, np.array(-0.1), np.array(-(2**63)), np.array(1), result)
    assert result[:3].tolist() == [np.float64(-0.1).view(np.int64), -(2**63), 1]


def test_threads_workspace_and_error_word() -> None:
    body = (
        "  store i64 7, ptr %error\n"
        "  %last = getelementptr i8, ptr %workspace, i64 99\n"
        "  store i8 3, ptr %last\n"
        "  %address = ptrtoint ptr %workspace to i64\n"
        "  %rest = and i64 %address, 63\n" + store_all(["thread", "threads", "error.n0", "workspace.n0", "rest"])
    )
    result = out()
    error = run(kernel(memref("out", 1), body), Signature((), (OUT,), workspace=100), result, workspace=100, threads=5)
    assert result[:5].tolist() == [0, 1, 4, 100, 0]  # it doesn't want threads
    assert error.tolist() == [7, 0, 0, 0]


@pytest.mark.parametrize("kind", ["i1", "i8"])
def test_bools_and_bytes(kind: str) -> None:
    """A bool is a byte of 0 or 1 in memory."""
    body = f"""
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %pa = getelementptr inbounds nuw {kind}, ptr %a, i64 %i
  %pb = getelementptr inbounds nuw {kind}, ptr %b, i64 %i
  %po = getelementptr inbounds nuw {kind}, ptr %out, i64 %i
  %va = load {kind}, ptr %pa, align 1
  %vb = load {kind}, ptr %pb, align 1
  %v = xor {kind} %va, %vb
  store {kind} %v, ptr %po, align 1
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, 100
  br i1 %c, label %loop, label %done
done:
"""
    dtype = DType.i1 if kind == "i1" else DType.i8
    param = BufferParam((100,), dtype)
    rng = np.random.default_rng(0)
    a, b = (aligned(rng.integers(0, 2 if kind == "i1" else 256, 100).astype(np.uint8)) for _ in range(2))
    result = aligned(np.full(100, 77, np.uint8))
    text = kernel(f"{memref('a', 1)}, {memref('b', 1)}, {memref('out', 1)}", body)
    run(text, Signature((param, param), (param,)), a, b, result)
    assert np.array_equal(result, a ^ b)


def test_one_buffer_may_be_two_params() -> None:
    body = "  %x = load i64, ptr %a\n  %y = load i64, ptr %b\n  %sum = add i64 %x, %y\n" + store_all(["sum"])
    text = kernel(f"{memref('a', 1)}, {memref('b', 1)}, {memref('out', 1)}", body)
    a, result = aligned(np.array([21])), out()
    run(text, Signature((BufferParam((1,), DType.i64),) * 2, (OUT,)), a, a, result)
    assert result[0] == 42


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("define void @other() {\n  ret void\n}", "no function @kernel"),
        ("declare void @kernel()", "no function @kernel"),
        (kernel("i64 %n", ""), "its signature gives"),
        (kernel(memref("out", 2), ""), "its signature gives"),
        ("garbage", "no function @kernel"),
        ("", "no function @kernel"),
        (kernel(memref("out", 1), "  %x = add i64 %nobody, 1"), "use of undefined value '%nobody'"),
        (kernel(memref("out", 1), "  %x = add i32 %threads, 1"), "defined with type 'i64'"),
        (kernel(memref("out", 1), "  store i64 1.5, ptr %out"), "invalid for type"),
        (kernel(memref("out", 1), "  br label %next\nnext:\n  %x = add i64 %y, 1\n  %y = add i64 %x, 1"), "dominate"),
    ],
)
def test_bad_text_raises(text: str, words: str) -> None:
    with pytest.raises(PassError, match=words):
        emit_object(text, Signature((), (OUT,)), "entry", host())


def test_other_functions_and_attributes_of_the_module_stay() -> None:
    text = (
        "define private i64 @twice(i64 %x) #0 {\n  %y = add i64 %x, %x\n  ret i64 %y\n}\n"
        + kernel(memref("out", 1), "  %v = call i64 @twice(i64 21)\n" + store_all(["v"])).replace(") {", ") #0 {", 1)
        + "attributes #0 = { nounwind }\n"
    )
    result = out()
    run(text, Signature((), (OUT,)), result)
    assert result[0] == 42
