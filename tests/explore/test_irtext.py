"""IR as text: hidden, renamed, counted, cut into functions."""

from __future__ import annotations

from textwrap import dedent

import pytest

from mlirdev.explore.irtext import (
    Function,
    Hidden,
    Language,
    dialect_mix,
    functions,
    language_of,
    normalized,
    op_counts,
    with_values_renamed,
    without_attributes,
    without_locations,
)

MLIR = dedent("""\
    #loc = loc(unknown)
    #loc2 = loc("n2")
    #map = affine_map<(d0) -> (d0)>
    #map1 = affine_map<(d0) -> ()>
    module attributes {a.workspace = 0 : i64} {
      func.func @kernel(%arg0: tensor<96xf32> {mlirdev.shared} loc(unknown), %arg1: memref<4xf32, #map>) -> f32 {
        %cst = arith.constant 0.000000e+00 : f32 loc(#loc1)
        %0 = linalg.generic {indexing_maps = [#map, #map1], names = ["a } b"]} ins(%arg0 : tensor<96xf32>) {
        ^bb0(%in: f32 loc("n4"), %out: f32 loc("n4")):
          %1 = arith.mulf %in, %in : f32 loc(callsite("n5"(#loc2) at fused<#di_scope>["kernel":4:0, #loc2]))
          linalg.yield %1 : f32 loc(#loc2)
        } -> tensor<f32> loc(#loc2)
        return %0 : tensor<f32> loc(#loc)
      } loc(#loc)
    } loc(#loc)
    #di_scope = #llvm.di_subroutine_type<callingConvention = DW_CC_normal>
    #loc1 = loc(fused[#loc, "n0"])
    """)

LLVM = dedent("""\
    ; Function Attrs: nounwind
    define internal void @kernel(ptr noalias %0) #0 {
      br label %21, !dbg !6

    21:                                               ; preds = %21, %20
      %22 = phi i64 [ %30, %21 ], [ 0, %20 ], !dbg !6
      %30 = tail call i64 @f(i64 %22), !tbaa !9, !dbg !6
      br label %21, !dbg !6
    }

    declare i64 @f(i64) #0

    attributes #0 = { nounwind "prefer-vector-width"="512" }

    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!2}

    !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
    !1 = !DIFile(filename: "kernel", directory: "")
    !2 = !{i32 2, !"Debug Info Version", i32 3}
    !6 = !DILocation(line: 5, scope: !3)
    !9 = !{!"int"}
    """)

ASM = dedent("""\
    \t.section\t.ltext,"axl",@progbits
    kernel:
    .Lfunc_begin0:
    \t.file\t1 "kernel"
    \t.loc\t1 5 0 prologue_end
    \tvmovaps\t.LCPI0_3(%rdi), %zmm0
    .LBB0_7:
    \tjmp\t.LBB0_7
    .Ltmp0:
    \t.cfi_endproc
    \t.section\t.debug_line,"",@progbits
    .Lline_table_start0:
    \t.section\t.text
    """)


def test_languages_by_file():
    assert language_of("003-kernel-cse.mlir") is Language.MLIR
    assert language_of("a/064-ll-optimize.ll") is Language.LLVM
    assert language_of("065-asm-codegen.s") is Language.ASM
    assert language_of("000-graph-recorded.txt") is Language.PLAIN


def test_mlir_without_locations():
    text = without_locations(MLIR, Language.MLIR)
    assert "loc" not in text
    assert "#di_" not in text
    assert "    ^bb0(%in: f32, %out: f32):\n      %1 = arith.mulf %in, %in : f32\n" in text
    assert text.startswith("#map = ")
    assert text.endswith("    return %0 : tensor<f32>\n  }\n}\n")


def test_mlir_without_attributes():
    text = without_attributes(MLIR, Language.MLIR)
    assert "module {\n  func.func @kernel(%arg0: tensor<96xf32> loc(unknown), %arg1: memref<4xf32, #map>)" in text
    assert "%0 = linalg.generic ins(%arg0 : tensor<96xf32>) {\n" in text
    assert "#map1" not in text
    assert "#map = " in text
    assert "#loc2 = " in text


@pytest.mark.parametrize(
    ("op", "bare"),
    [
        ("linalg.map { arith.addf } ins(%a : f32)", "linalg.map { arith.addf } ins(%a : f32)"),
        ('"a.b"(%1) <{cache = 1 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()', '"a.b"(%1) : (!llvm.ptr) -> ()'),
        ("} {mlirdev.parallel}", "}"),
        ("llvm.func @wants() -> i64 attributes {a = {b = {}}} {", "llvm.func @wants() -> i64 {"),
        ("scf.for %i = %a to %b step %c {", "scf.for %i = %a to %b step %c {"),
    ],
)
def test_attributes_of_one_op(op: str, bare: str):
    assert without_attributes(op, Language.MLIR) == bare


def test_llvm_without_locations_keeps_other_metadata():
    text = without_locations(LLVM, Language.LLVM)
    assert "!dbg" not in text
    assert "  %30 = tail call i64 @f(i64 %22), !tbaa !9\n" in text
    assert text.endswith('attributes #0 = { nounwind "prefer-vector-width"="512" }\n\n\n!9 = !{!"int"}\n')


def test_llvm_without_attributes():
    text = without_attributes(LLVM, Language.LLVM)
    assert text.startswith("define internal void @kernel(ptr noalias %0) {\n  br label %21, !dbg !6\n")
    assert "  %30 = tail call i64 @f(i64 %22), !dbg !6\n" in text
    assert "declare i64 @f(i64)\n" in text
    assert "attributes #0" not in text


def test_asm_without_locations():
    assert without_locations(ASM, Language.ASM) == (
        '\t.section\t.ltext,"axl",@progbits\nkernel:\n\tvmovaps\t.LCPI0_3(%rdi), %zmm0\n.LBB0_7:\n\tjmp\t.LBB0_7\n'
        "\t.cfi_endproc\n\t.section\t.text\n"
    )


def test_mlir_values_are_numbered_as_they_appear_region_by_region():
    text = (
        "func.func @f(%a: f32) {\n  x {\n    %0 = use %a\n  }\n  y {\n  ^bb3(%0: f32):\n    use %0#1\n  }\n  use %a\n}"
    )
    assert with_values_renamed(text, Language.MLIR) == (
        "func.func @f(%v0: f32) {\n  x {\n    %v1 = use %v0\n  }\n  y {\n  ^b2(%v3: f32):\n    use %v3#1\n  }\n"
        "  use %v0\n}"
    )


@pytest.mark.parametrize(
    ("language", "text", "renamed"),
    [
        (Language.MLIR, MLIR, [("%arg0", "%x"), ("%cst", "%7")]),
        (Language.LLVM, LLVM, [("%22", "%a"), ("%30", "%b")]),
        (Language.ASM, ASM, [(".LBB0_7", ".LBB0_1")]),
        (Language.PLAIN, "%3: f32 = add %1", [("%3", "%9")]),
    ],
)
def test_texts_with_other_names_become_equal(language: Language, text: str, renamed: list[tuple[str, str]]):
    other = text
    for old, new in renamed:
        other = other.replace(old, new)
    hidden = Hidden(names=True)
    assert other != text
    assert normalized(other, language, hidden) == normalized(text, language, hidden)


def test_names_in_strings_stay():
    assert with_values_renamed('x "%a ^bb0" %a', Language.MLIR) == 'x "%a ^bb0" %v0'


def test_op_counts():
    counts = op_counts(MLIR, Language.MLIR)
    assert counts == {
        "arith.constant": 1,
        "arith.mulf": 1,
        "builtin.module": 1,
        "func.func": 1,
        "func.return": 1,
        "linalg.generic": 1,
        "linalg.yield": 1,
    }
    assert dialect_mix(counts) == {"arith": 2, "func": 2, "linalg": 2, "builtin": 1}
    assert op_counts(LLVM, Language.LLVM) == {"br": 2, "call": 1, "phi": 1}
    assert op_counts(ASM, Language.ASM) == {"jmp": 1, "vmovaps": 1}
    assert op_counts("%0: f32 = input\n%1: f32 = add %0\nreturn %1", Language.PLAIN) == {
        "add": 1,
        "input": 1,
        "return": 1,
    }


def test_functions():
    assert functions(MLIR, Language.MLIR) == [Function("kernel", 6, 14)]
    assert functions(LLVM, Language.LLVM) == [Function("kernel", 2, 9)]
    assert functions(ASM, Language.ASM) == [Function("kernel", 2, 10)]
    assert functions("%0: f32 = input", Language.PLAIN) == []
