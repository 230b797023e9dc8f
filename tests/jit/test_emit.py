"""What emit_object shows its observer, and debug lines through to the assembly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from native import aligned, build, call, elementwise_text, host

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.jit import emit_object
from mlirdev.plan import BufferParam, DimParam, Signature

SIGNATURE = Signature((DimParam(), BufferParam((None,), DType.f32)), (BufferParam((None,), DType.f32),), (0, 0))


def located_text() -> str:
    """The elementwise exp, its call located as node 7 and the rest as node 3, as passes/ prints ordinals."""
    lines = []
    for line in elementwise_text("llvm.exp.f32", ["float"]).splitlines():
        if line.startswith("define"):
            line = line.replace(") {", ") !dbg !4 {")
        elif " call " in line:
            line += ", !dbg !6"
        elif line.startswith("  ") and "icmp" not in line:
            line += ", !dbg !5"
        lines.append(line)
    lines += [
        "!llvm.dbg.cu = !{!1}",
        "!llvm.module.flags = !{!0}",
        '!0 = !{i32 2, !"Debug Info Version", i32 3}',
        "!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)",
        '!2 = !DIFile(filename: "kernel", directory: "")',
        "!3 = !DISubroutineType(types: !{})",
        '!4 = distinct !DISubprogram(name: "kernel", scope: !2, file: !2, line: 1, type: !3, unit: !1,'
        " spFlags: DISPFlagDefinition)",
        "!5 = !DILocation(line: 3, scope: !4)",
        "!6 = !DILocation(line: 7, scope: !4)",
    ]
    return "\n".join(lines)


def test_the_observer_sees_each_stage_whenever_it_looks() -> None:
    seen: list[tuple[str, str, Callable[[], str]]] = []
    text = elementwise_text("llvm.exp.f32", ["float"])
    plain = emit_object(text, SIGNATURE, "entry", host())
    data = emit_object(text, SIGNATURE, "entry", host(), lambda s, p, text, seconds: seen.append((s, p, text)))
    assert data == plain
    assert [(stage, name) for stage, name, _ in seen] == [("ll", "entry"), ("ll", "optimize"), ("asm", "codegen")]
    before, after, assembly = (text() for *_, text in seen)
    assert "define void @entry(ptr %packed)" in before
    assert "@mlirdev.exp.f32" in before
    assert "@mlirdev.exp.f32" not in after
    assert f'"prefer-vector-width"="{host().llvm.vector_bits}"' in after
    assert "entry:" in assembly
    assert seen[2][2]() == assembly


def test_objects_are_the_same_each_time() -> None:
    text = elementwise_text("llvm.exp.f32", ["float"])
    assert len({emit_object(text, SIGNATURE, "entry", host()) for _ in range(3)}) == 1


def test_locations_reach_the_assembly() -> None:
    seen: dict[str, str] = {}
    emit_object(located_text(), SIGNATURE, "entry", host(), lambda s, p, text, t: seen.__setitem__(s, text()))
    assert ".loc" in seen["asm"]
    lines = {line.split()[2] for line in seen["asm"].splitlines() if line.strip().startswith(".loc")}
    assert {"3", "7"} <= lines


def test_located_code_runs() -> None:
    x, y = aligned(np.linspace(-2, 2, 50, dtype=np.float32)), aligned(np.zeros(50, np.float32))
    call(build(located_text(), SIGNATURE), [np.array(50), x, y], aligned(np.zeros(4, np.int64)))
    assert np.allclose(y, np.exp(x), rtol=1e-6)


def test_the_kernel_vectorises_at_the_target_width() -> None:
    seen: dict[str, str] = {}
    emit_object(
        elementwise_text("llvm.exp.f32", ["float"]),
        SIGNATURE,
        "entry",
        host(),
        lambda s, p, text, t: seen.__setitem__(p, text()),
    )
    assert f"<{host().llvm.vector_bits // 32} x float>" in seen["optimize"]


def test_an_error_names_stage_and_pass() -> None:
    with pytest.raises(PassError) as caught:
        emit_object("nothing", SIGNATURE, "entry", host())
    assert (caught.value.stage, caught.value.pass_name) == ("ll", "abi")
