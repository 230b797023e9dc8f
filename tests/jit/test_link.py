"""Linking: addresses, lifetime, undefined symbols, memory that comes back, the native loop."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import numpy as np
import pytest
from native import RUNALL, aligned, build, call, host

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.jit import emit_object, link, runall_address
from mlirdev.plan import BufferParam, Signature

SIGNATURE = Signature((), (BufferParam((4,), DType.i64),))
HEAD = (
    "define void @kernel(ptr %a, ptr %error, i64 %b, i64 %c, i64 %d, i64 %thread, i64 %threads, ptr %e,"
    " ptr %workspace, i64 %f, i64 %g, i64 %h, ptr %i, ptr %out, i64 %j, i64 %k, i64 %l) {\n"
)


def storing(value: int) -> str:
    return HEAD + f"  store i64 {value}, ptr %out\n  ret void\n}}\n"


def run(kernel) -> int:
    result = aligned(np.zeros(4, np.int64))
    call(kernel, [result], aligned(np.zeros(4, np.int64)))
    return int(result[0])


def test_each_symbol_gets_its_own_code() -> None:
    objects = {f"k{i}": emit_object(storing(i), SIGNATURE, f"k{i}", host()) for i in range(3)}
    kernels = link(objects)
    assert list(kernels) == ["k0", "k1", "k2"]
    assert [run(k) for k in kernels.values()] == [0, 1, 2]
    assert [k.symbol for k in kernels.values()] == ["k0", "k1", "k2"]
    again = link(objects)
    assert again["k1"].address != kernels["k1"].address
    assert run(again["k1"]) == 1


def test_code_lives_as_long_as_one_kernel_refers_to_it() -> None:
    kernels = link({f"k{i}": emit_object(storing(i), SIGNATURE, f"k{i}", host()) for i in range(40)})
    kept = kernels.pop("k17")
    kernels.clear()
    gc.collect()
    assert run(kept) == 17


def test_symbols_of_libc_and_libm() -> None:
    text = (
        HEAD
        + """
  %size = add i64 %threads, 67
  %memory = call ptr @malloc(i64 %size)
  call void @llvm.memset.p0.i64(ptr %memory, i8 1, i64 %size, i1 true)
  %x = load volatile i64, ptr %memory
  call void @free(ptr %memory)
  %more = add i64 %threads, 4
  %d = sitofp i64 %more to double
  %gamma = call double @tgamma(double %d)
  %whole = fptosi double %gamma to i64
  %sum = add i64 %x, %whole
  store i64 %sum, ptr %out
  ret void
}
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @tgamma(double)
""".replace("%d = sitofp", "%f64 = sitofp").replace("double %d)", "double %f64)")
    )
    result = aligned(np.zeros(4, np.int64))
    call(build(text, SIGNATURE), [result], aligned(np.zeros(4, np.int64)))
    assert result[0] == 0x0101010101010101 + 24


def test_an_undefined_symbol_is_an_error() -> None:
    text = HEAD + "  call void @nobody_has_this()\n  ret void\n}\ndeclare void @nobody_has_this()\n"
    with pytest.raises(PassError, match="nobody_has_this"):
        link({"k": emit_object(text, SIGNATURE, "k", host())})


def test_an_object_without_the_symbol_is_an_error() -> None:
    with pytest.raises(PassError, match="other"):
        link({"other": emit_object(storing(1), SIGNATURE, "k", host())})


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"not an object" * 100])
def test_a_bad_object_is_an_error(data: bytes) -> None:
    with pytest.raises(PassError, match="link"):
        link({"k": data})


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_thousands_of_links_leave_memory_as_it_was() -> None:
    def resident_pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    objects = {f"k{i}": emit_object(storing(i), SIGNATURE, f"k{i}", host()) for i in range(10)}
    for _ in range(50):
        link(objects)
    before = resident_pages()
    for _ in range(200):
        link(objects)
    assert (resident_pages() - before) * 4096 < 3 << 20  # 2,000 kernels that stayed would take 24 MB and more


def test_runall_calls_in_order() -> None:
    body = "  %x = load i64, ptr %out\n  %y = mul i64 %x, 10\n  %z = add i64 %y, {}\n  store i64 %z, ptr %out\n"
    kernels = link(
        {f"k{i}": emit_object(HEAD + body.format(i) + "  ret void\n}", SIGNATURE, f"k{i}", host()) for i in range(1, 4)}
    )
    result = aligned(np.zeros(4, np.int64))
    scratch = aligned(np.zeros(8, np.int64))
    packed = (ctypes.c_void_p * 4)(scratch.ctypes.data, scratch.ctypes.data, scratch.ctypes.data, result.ctypes.data)
    functions = (ctypes.c_void_p * 3)(*(k.address for k in kernels.values()))
    arguments = (ctypes.c_void_p * 3)(*[ctypes.addressof(packed)] * 3)
    runall = RUNALL(runall_address())
    runall(functions, arguments, 0)
    assert result[0] == 0
    runall(None, None, 0)
    runall(functions, arguments, 3)
    assert result[0] == 123
    assert runall_address() == runall_address()
