"""Targets: the machine's own, others by name, and objects for processors that aren't here."""

from __future__ import annotations

import numpy as np
import pytest
from native import aligned, build, call, elementwise_text, host

from mlirdev.dtypes import DType
from mlirdev.errors import OptionError
from mlirdev.jit import emit_object, resolve_target
from mlirdev.plan import BufferParam, DimParam, Signature
from mlirdev.target import Llvm, Target, load_target

SIGNATURE = Signature((DimParam(), BufferParam((None,), DType.f32)), (BufferParam((None,), DType.f32),), (0, 0))


def test_native_is_filled_in() -> None:
    target = resolve_target(load_target("host"))
    assert target.is_resolved
    assert target.llvm.vector_bits in (128, 256, 512)
    assert resolve_target(target) == target


def test_a_resolved_target_keeps_what_was_given() -> None:
    target = resolve_target(Target("mine", llvm=Llvm(cpu="x86-64", features="", triple="x86_64-unknown-linux-gnu")))
    assert (target.llvm.cpu, target.llvm.features, target.llvm.vector_bits) == ("x86-64", "", 128)
    assert resolve_target(Target("narrow", llvm=Llvm(vector_bits=256))).llvm.vector_bits == 256


@pytest.mark.parametrize(("cpu", "bits"), [("x86-64", 128), ("haswell", 256), ("skylake-avx512", 512)])
def test_vector_width_follows_the_processor(cpu: str, bits: int) -> None:
    assert resolve_target(Target(cpu, llvm=Llvm(triple="x86_64-unknown-linux-gnu", cpu=cpu))).llvm.vector_bits == bits


def test_an_unknown_triple_is_an_error() -> None:
    with pytest.raises(OptionError, match="nonsense"):
        resolve_target(Target("bad", llvm=Llvm(triple="nonsense-unknown")))


@pytest.mark.parametrize(
    ("triple", "words"),
    [
        ("aarch64-unknown-linux-gnu", ["fmla", ".4s"]),
        ("riscv64-unknown-linux-gnu", ["fmadd.s"]),
        ("x86_64-unknown-linux-gnu", ["mulps"]),
    ],
)
def test_other_processors_emit(triple: str, words: list[str]) -> None:
    cpu = "x86-64" if triple.startswith("x86") else "native"
    target = resolve_target(Target("other", llvm=Llvm(triple=triple, cpu=cpu)))
    seen: dict[str, str] = {}
    data = emit_object(
        elementwise_text("llvm.exp.f32", ["float"]),
        SIGNATURE,
        "entry",
        target,
        lambda stage, name, text, seconds: seen.__setitem__(f"{stage} {name}", text()),
    )
    assert data.startswith(b"\x7fELF")
    assert list(seen) == ["ll entry", "ll optimize", "asm codegen"]
    assert all(word in seen["asm codegen"] for word in words)


def test_the_plainest_processor_of_this_architecture_runs() -> None:
    cpu = "x86-64" if "x86" in host().llvm.triple else "generic"
    target = resolve_target(Target("plain", llvm=Llvm(cpu=cpu, features="")))
    x = aligned(np.linspace(-3, 3, 37, dtype=np.float32))
    result = aligned(np.zeros(37, np.float32))
    kernel = build(elementwise_text("llvm.exp.f32", ["float"]), SIGNATURE, target=target)
    call(kernel, [np.array(37), x, result], aligned(np.zeros(4, np.int64)))
    assert np.allclose(result, np.exp(x), rtol=1e-6)
