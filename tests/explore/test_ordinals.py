"""Which ordinals lines stand for, in every language and form in which a text may say it."""

from __future__ import annotations

from textwrap import dedent

from mlirdev.explore.irtext import Language
from mlirdev.explore.ordinals import Coverage, coverage, line_ordinals


def ordinals(text: str, language: Language) -> dict[str, tuple[int, ...]]:
    """What each line with ops stands for."""
    text = dedent(text)
    found = zip(text.split("\n"), line_ordinals(text, language), strict=True)
    return {line.strip(): numbers for line, numbers in found if numbers is not None}


def test_mlir_locations_in_every_form():
    assert ordinals(
        """\
        #loc = loc(unknown)
        #map = affine_map<(d0) -> (d0)>
        // a comment loc("n8")
          %0 = a.b : f32 loc("n1")
          %1 = a.b "loc(\\"n9\\")" : f32 loc(#loc)
          %2 = a.b : f32 loc(#loc7)
          %3 = a.b : f32 loc(fused["n3", #loc1, "n1"])
          %4 = a.b : f32 loc(callsite(#loc1 at fused<#di>["kernel":6:0]))
          %5 = a.b : f32 loc("kernel":0:0)
          %6 = a.b : f32 loc("n6"("other":4:0))
          %7 = a.b : f32
        #loc1 = loc("n2")
        #loc7 = loc(fused[#loc1, #loc])
        """,
        Language.MLIR,
    ) == {
        '%0 = a.b : f32 loc("n1")': (1,),
        '%1 = a.b "loc(\\"n9\\")" : f32 loc(#loc)': (),
        "%2 = a.b : f32 loc(#loc7)": (2,),
        '%3 = a.b : f32 loc(fused["n3", #loc1, "n1"])': (1, 2, 3),
        '%4 = a.b : f32 loc(callsite(#loc1 at fused<#di>["kernel":6:0]))': (2, 5),
        '%5 = a.b : f32 loc("kernel":0:0)': (),
        '%6 = a.b : f32 loc("n6"("other":4:0))': (6,),
        "%7 = a.b : f32": (),
    }


def test_mlir_ops_of_several_lines_are_one():
    assert ordinals(
        """\
        func.func @f(%a: f32 loc("n9")) {
          %0 = scf.if %c -> (f32) {
            %1 = a.b : f32 loc("n1")
          } else {
            cf.switch %x : i32, [
              default: ^bb1,
              7: ^bb2(%y : f32)
            ] loc("n2")
          ^bb1:  // pred: ^bb0
          ^bb2(%in: f32 loc("n3"), %out: f32 loc("n4")):
            "a.generic"(%in) ({
              a.end loc("n5")
            }, {
            }) {k = "{"} : (f32) -> () loc("n6")
          } loc("n7")
        } loc("n8")
        """,
        Language.MLIR,
    ) == {
        'func.func @f(%a: f32 loc("n9")) {': (8,),
        "%0 = scf.if %c -> (f32) {": (7,),
        '%1 = a.b : f32 loc("n1")': (1,),
        "} else {": (7,),
        "cf.switch %x : i32, [": (2,),
        "default: ^bb1,": (2,),
        "7: ^bb2(%y : f32)": (2,),
        '] loc("n2")': (2,),
        '^bb2(%in: f32 loc("n3"), %out: f32 loc("n4")):': (3, 4),
        '"a.generic"(%in) ({': (6,),
        'a.end loc("n5")': (5,),
        "}, {": (6,),
        '}) {k = "{"} : (f32) -> () loc("n6")': (6,),
        '} loc("n7")': (7,),
        '} loc("n8")': (8,),
    }


LLVM = """\
define void @kernel(ptr %0) !dbg !3 {
  %1 = load float, ptr %0, align 4, !dbg !6
  switch i32 %x, label %2 [
    i32 0, label %3
  ], !dbg !7

2:                                                ; preds = %1
    #dbg_value(i32 0, !1, !2, !6)
  %4 = fadd float %1, %1, !dbg !8
  %5 = fadd float %1, %1
  ret void, !dbg !9
}

!1 = !DIFile(filename: "kernel", directory: "")
!6 = !DILocation(line: 5, scope: !3)
!7 = !DILocation(line: 1, scope: !3)
!8 = distinct !DILocation(line: 0, scope: !4, inlinedAt: !6)
!9 = !DILocation(line: 0, scope: !3)
"""


def test_llvm_debug_lines():
    assert ordinals(LLVM, Language.LLVM) == {
        "%1 = load float, ptr %0, align 4, !dbg !6": (4,),
        "switch i32 %x, label %2 [": (0,),
        "i32 0, label %3": (0,),
        "], !dbg !7": (0,),
        "%4 = fadd float %1, %1, !dbg !8": (4,),
        "%5 = fadd float %1, %1": (),
        "ret void, !dbg !9": (),
    }


def test_debug_lines_of_another_file_are_no_ordinals():
    other = LLVM.replace('"kernel"', '"library.c"')
    assert set(ordinals(other, Language.LLVM).values()) == {()}


def test_assembly_lines():
    text = """\
        kernel:
        \t.cfi_startproc
        \tpushq\t%rbp
        \t.file\t1 "kernel"
        \t.file\t2 "dir" "other.c"
        \t.loc\t1 5 0 prologue_end
        \tvmovaps\t(%rdi), %zmm0
        .LBB0_1:
        \tvmovaps\t(%rsi), %zmm0
        \t.loc\t2 5 0
        \tincq\t%rax
        \t.loc\t1 0 5 is_stmt 0
        \tretq
        \t.loc\t1 2 0
        \tint3
        \t.cfi_endproc
        entry:
        \t.cfi_startproc
        \tjmp\tkernel
        """
    assert ordinals(text, Language.ASM) == {
        "pushq\t%rbp": (),
        "vmovaps\t(%rdi), %zmm0": (4,),
        "vmovaps\t(%rsi), %zmm0": (4,),
        "incq\t%rax": (),
        "retq": (),
        "int3": (1,),
        "jmp\tkernel": (),
    }


def test_graphs_and_plans():
    text = "%0: f32 = input\n%1: f32 = aten.neg(%0)  // n0\nlaunch 1f(slot 0) -> [1]  // nodes [4, 2, 4]\nreturn %1"
    assert list(ordinals(text, Language.PLAIN).values()) == [(0,), (2, 4)]


def test_coverage_counts_what_says_nothing():
    assert coverage([None, (1,), (), (2, 3)]) == Coverage(2, 3)
    assert Coverage(0, 0).share == 1.0
