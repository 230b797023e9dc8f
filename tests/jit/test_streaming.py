"""Which stores are marked, on text as LLVM leaves it, and a large result that is written so."""

from __future__ import annotations

import numpy as np
from native import aligned, build, call, elementwise_text, host

from mlirdev.dtypes import DType
from mlirdev.jit import emit_object
from mlirdev.jit.streaming import is_streamed, mark_streaming_stores
from mlirdev.plan import BufferParam, DimParam, Signature

KERNEL = """
define internal void @kernel(ptr noalias readonly align 64 %0, ptr noalias {effect} align 64 "mlirdev-streamed" %1) {{
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 4096
  br label %4
4:
  %5 = phi i64 [ 0, %2 ], [ %8, %4 ]
  %6 = getelementptr inbounds nuw float, ptr %3, i64 %5
  %7 = load <16 x float>, ptr %0, align 64
  store <16 x float> %7, ptr %6, align {align}
  %8 = add i64 %5, 16
  %9 = icmp eq i64 %8, 1024
  br i1 %9, label %10, label %4
10:
  ret void
}}
!0 = !{{}}
"""


def test_aligned_vectors_of_a_result_that_is_only_written() -> None:
    marked = mark_streaming_stores(KERNEL.format(effect="writeonly", align=64), host())
    assert "store <16 x float> %7, ptr %6, align 64, !nontemporal !1\n" in marked
    assert "!1 = !{i32 1}" in marked
    if host().llvm.triple.startswith("x86_64"):
        assert "  call void @llvm.x86.sse.sfence()\n  ret void" in marked


def test_a_kernel_whose_result_may_be_written_over_a_param_is_there_twice() -> None:
    text = KERNEL.format(effect="writeonly", align=64)
    text = text.replace("align 64 %0", 'align 64 "mlirdev-meeting" %0').replace(
        "streamed", 'streamed" "mlirdev-meeting'
    )
    marked = mark_streaming_stores(text, host())
    apart, over, choice = marked.split("define internal void @kernel")[1:]
    assert apart.startswith(".apart(")
    assert "!nontemporal" in apart
    assert over.startswith(".over(")
    assert "!nontemporal" not in over
    assert "icmp eq ptr %1, %0" in choice
    assert "call void @kernel.over(ptr %0, ptr %1)" in choice


def test_nothing_else_is_changed() -> None:
    for effect, align in (("", 64), ("writeonly", 4)):
        text = KERNEL.format(effect=effect, align=align)
        assert mark_streaming_stores(text, host()) is text
    other = KERNEL.format(effect="writeonly", align=64).replace(' "mlirdev-streamed"', "")
    assert mark_streaming_stores(other, host()) is other


def test_only_sizes_known_to_be_large() -> None:
    large = 4 * host().caches.l2
    assert is_streamed(BufferParam((large // 4,), DType.f32), host())
    assert not is_streamed(BufferParam((large // 8,), DType.f32), host())
    assert not is_streamed(BufferParam((large, None), DType.f32), host())


def test_a_large_result_is_right() -> None:
    """With a few elements after the last whole vector."""
    size = host().caches.l2 + 5
    buffer = BufferParam((size,), DType.f32)
    signature = Signature((DimParam(), buffer), (buffer,))
    text = elementwise_text("llvm.sqrt.f32", ["float"])
    seen: dict[str, str] = {}
    emit_object(text, signature, "entry", host(), lambda _, name, text, seconds: seen.update({name: text()}))
    assert "!nontemporal" in seen["optimize"]
    x, y = aligned(np.arange(size, dtype=np.float32)), aligned(np.zeros(size, dtype=np.float32))
    call(build(text, signature), [np.array(size), x, y], np.zeros(4, np.int64))
    assert np.array_equal(y, np.sqrt(x))
