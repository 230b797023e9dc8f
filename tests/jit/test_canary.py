"""The pair: what MLIR's LLVM prints, llvmlite's reads. A new version of either shows here what it changed."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from mlirdev.jit.sanitize import sanitize

# As MLIR's LLVM prints them today.
SNIPPETS = {
    "inexact decimal": "define float @f() { ret float 1.100000e+00 }",
    "infinities": "define float @f() { ret float -inf }",
    "nan": "define double @f() { ret double +qnan }",
    "nan with payload": "define float @f() { ret float +nan(0x1234) }",
    "hexadecimal": "define half @f() { ret half f0x3C01 }",
    "splat": "define <8 x bfloat> @f() { ret <8 x bfloat> splat (bfloat 1.001000e-01) }",
    "vector": "define <2 x float> @f() { ret <2 x float> <float 1.1, float +inf> }",
    "array": "@c = private constant [2 x [1 x float]] [[1 x float] [float 0.1], [1 x float] zeroinitializer]",
    "flags": "define float @f(float %0, float %1) { %3 = fadd reassoc nsz arcp contract float %0, %1 ret float %3 }",
    "nuw gep": "define ptr @f(ptr %0, i64 %1) { %3 = getelementptr inbounds nuw float, ptr %0, i64 %1 ret ptr %3 }",
    "disjoint": "define i32 @f(i32 %0) { %2 = or disjoint i32 %0, 1 ret i32 %2 }",
    "nneg": "define i64 @f(i32 %0) { %2 = zext nneg i32 %0 to i64 ret i64 %2 }",
    "trunc nuw": "define i32 @f(i64 %0) { %2 = trunc nuw nsw i64 %0 to i32 ret i32 %2 }",
    "samesign": "define i1 @f(i64 %0) { %2 = icmp samesign ult i64 %0, 4 ret i1 %2 }",
    "assume": """declare void @llvm.assume(i1)
        define void @f(ptr %0) { call void @llvm.assume(i1 true) [ "align"(ptr %0, i64 64) ] ret void }""",
    "masked": "declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32 immarg, <4 x i1>, <4 x float>)",
    "alias scopes": """define void @f(ptr %0) { store float 0.1, ptr %0, align 4, !alias.scope !0 ret void }
        !0 = !{!1}
        !1 = distinct !{!1, !2}
        !2 = distinct !{!2}""",
    "loop hints": """define void @f() { br label %1
        1: br label %1, !llvm.loop !0 }
        !0 = distinct !{!0, !1}
        !1 = !{!"llvm.loop.mustprogress"}""",
    "attributes": """define void @f() #0 { ret void }
        attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }""",
    "parameters": "define void @f(ptr noalias noundef nonnull writeonly captures(none) align 64 %0) { ret void }",
    "module flags": """!llvm.module.flags = !{!0}
        !0 = !{i32 2, !"Debug Info Version", i32 3}""",
}


def test_the_pair_is_the_one_that_was_tested() -> None:
    assert llvm.llvm_version_info[0] == 22


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippet_is_accepted(name: str) -> None:
    llvm.parse_assembly(sanitize(SNIPPETS[name]), llvm.create_context()).verify()


MLIR = """
llvm.func @math(%x: f32, %v: vector<16xf32>, %h: f16, %b: bf16, %p: !llvm.ptr {llvm.noalias}, %n: i64) -> f32 {
  %c = llvm.mlir.constant(1.1 : f32) : f32
  %i = llvm.mlir.constant(0xFF800000 : f32) : f32
  %q = llvm.mlir.constant(0x7FC00001 : f32) : f32
  %d = llvm.mlir.constant(0.1 : f64) : f64
  %hc = llvm.mlir.constant(0.1 : f16) : f16
  %bc = llvm.mlir.constant(0.1 : bf16) : bf16
  %vc = llvm.mlir.constant(dense<0.1> : vector<16xf32>) : vector<16xf32>
  %0 = llvm.fadd %x, %c {fastmathFlags = #llvm.fastmath<reassoc, contract>} : f32
  %1 = llvm.intr.exp(%0) : (f32) -> f32
  %2 = llvm.intr.maximum(%1, %i) : (f32, f32) -> f32
  %3 = llvm.intr.minnum(%2, %q) : (f32, f32) -> f32
  %4 = llvm.intr.fma(%v, %vc, %v) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  %5 = "llvm.intr.vector.reduce.fadd"(%c, %4) : (f32, vector<16xf32>) -> f32
  %6 = llvm.fadd %h, %hc : f16
  %7 = llvm.fadd %b, %bc : bf16
  %8 = llvm.fptrunc %d : f64 to f32
  %9 = llvm.getelementptr inbounds|nuw %p[%n] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %8, %9 {alignment = 4 : i64} : f32, !llvm.ptr
  llvm.store %6, %p : f16, !llvm.ptr
  llvm.store %7, %p : bf16, !llvm.ptr
  %t = llvm.mlir.constant(true) : i1
  %a = llvm.mlir.constant(64 : i64) : i64
  llvm.intr.assume %t ["align"(%p, %a : !llvm.ptr, i64)] : i1
  %10 = llvm.fcmp "une" %3, %5 : f32
  %11 = llvm.select %10, %3, %5 : i1, f32
  llvm.return %11 : f32
}
"""


def test_what_mlir_prints_now_is_accepted() -> None:
    ir = pytest.importorskip("torch_mlir.ir")
    from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir

    with ir.Context():
        text = translate_module_to_llvmir(ir.Module.parse(MLIR).operation)
    llvm.parse_assembly(sanitize(text), llvm.create_context()).verify()
