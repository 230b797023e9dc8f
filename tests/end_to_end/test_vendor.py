"""Matrix products by a vendor's library: the same values, where asked for, and clear words where it isn't there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev import compiler, events
from mlirdev.errors import OptionError
from mlirdev.jit import vendor as libraries
from mlirdev.options import options
from mlirdev.vendor import load_vendor

DEVICE = "mlirdev"


@pytest.fixture
def libtorch() -> Iterator[None]:
    compiler.forget()  # so that sizes are guessed from no other test's, and every kernel is linked anew
    with options.override(vendor="libtorch", compile="inline"):
        yield


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The vendor's functions that kernels were linked to, in this test."""
    found: list[str] = []
    original = libraries.vendor_address

    def noting(symbol: str) -> int:
        address = original(symbol)
        if address:
            found.append(symbol)
        return address

    monkeypatch.setattr(sys.modules["mlirdev.jit.link"], "vendor_address", noting)
    return found


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def compare(function: Callable[..., Tensor], *args: Tensor, tolerance: float = 1e-4) -> None:
    got = function(*(a.to(DEVICE) for a in args)).cpu()
    torch.testing.assert_close(got, function(*args), rtol=tolerance, atol=tolerance, equal_nan=True)


CASES: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "plain": (torch.mm, ((65, 47), (47, 33))),
    "left transposed": (lambda a, b: a.t() @ b, ((47, 65), (47, 33))),
    "right transposed": (lambda a, b: a @ b.t(), ((65, 47), (33, 47))),
    "both transposed": (lambda a, b: a.t() @ b.t(), ((47, 65), (33, 47))),
    "batched": (torch.bmm, ((3, 65, 47), (3, 47, 33))),
    "heads": (lambda a, b: a.transpose(1, 2) @ b.permute(0, 2, 3, 1), ((2, 37, 3, 40), (2, 41, 3, 40))),
    "linear": (lambda x, w, b: F.gelu(F.linear(x, w, b)), ((4, 35, 47), (65, 47), (65,))),
    "one row": (torch.mm, ((1, 470), (470, 333))),
    "added": (torch.addmm, ((65, 33), (65, 47), (47, 33))),
    "parts": (lambda a, b: a[3:60, 5:45] @ b[2:42], ((65, 47), (47, 33))),
    "three factors": (lambda a, b, c: (a @ b).relu() @ c, ((65, 47), (47, 33), (33, 70))),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, libtorch: None, calls: list[str]) -> None:
    function, shapes = CASES[name]
    compare(function, *(random(*shape) for shape in shapes))
    assert calls, "no kernel calls the library"


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.bfloat16, 2e-2), (torch.float16, 2e-2)], ids=str
)
def test_other_element_types(dtype: torch.dtype, tolerance: float, libtorch: None, calls: list[str]) -> None:
    """The library has no product of f16: that stays ours."""
    a, b = random(96, 64, dtype=dtype), random(80, 64, dtype=dtype)
    compare(lambda a, b: a @ b.t(), a, b, tolerance=tolerance)
    compare(lambda a, b: a @ b, a, b.t().contiguous(), tolerance=tolerance)
    assert bool(calls) == (dtype is not torch.float16)


def test_values_that_are_not_finite(libtorch: None) -> None:
    a, b = random(64, 64), random(64, 64)
    a[3, 4], a[7, 1], b[5, 9] = float("nan"), float("inf"), float("-inf")
    compare(torch.mm, a, b)


def test_run_time_rows(libtorch: None, calls: list[str]) -> None:
    for rows in (65, 47, 1, 130):
        compare(lambda x, w: F.linear(x, w).relu(), random(rows, 64), random(72, 64))
    assert calls


def test_training(libtorch: None, calls: list[str]) -> None:
    def gradients(device: str) -> list[Tensor]:
        x, w = random(65, 47).to(device), random(33, 47).to(device).requires_grad_()
        F.linear(x, w).square().sum().backward()
        assert w.grad is not None
        return [w.grad.cpu()]

    torch.testing.assert_close(gradients(DEVICE), gradients("cpu"), rtol=1e-4, atol=1e-3)
    assert calls


def test_what_is_too_little_or_of_other_types_stays_ours(libtorch: None, calls: list[str]) -> None:
    compare(torch.mm, random(4, 5), random(5, 6))
    compare(torch.mm, random(64, 64).long(), random(64, 64).long())
    assert not calls


def test_it_is_off_by_default_and_part_of_the_keys(calls: list[str]) -> None:
    def function(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b).sigmoid()

    a, b = random(71, 64), random(64, 73)
    graphs: list[events.Event] = []
    unsubscribe = events.subscribe(graphs.append)
    with options.override(compile="inline"):
        compare(function, a, b)
        assert not calls
        with options.override(vendor="libtorch"):
            compare(function, a, b)
        assert calls
        calls.clear()
        compare(function, a, b)
    unsubscribe()
    assert not calls
    assert sum(isinstance(event, events.GraphCompiled) for event in graphs) == 2


VENDOR = """
library: {library}
kernels:
- symbol: {symbol}
  signature: {signature}
  operands: f32
  result: f32
"""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"library": "/nowhere/libfast.so"}, "library can't be loaded: /nowhere/libfast.so"),
        ({"symbol": "sgem"}, "libm.so.6 has no function 'sgem'"),
        ({"signature": "gemm-fotran"}, "unknown signature 'gemm-fotran'; did you mean 'gemm-fortran'"),
        ({"library": "x.so\npakage: torch"}, "unknown key 'pakage'; did you mean 'package'"),
        ({"library": "x.so\npackage: no_such_package"}, "there is no Python package 'no_such_package'"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        VENDOR.format(**{"library": "libm.so.6", "symbol": "sgemm_", "signature": "gemm-fortran"} | changes)
    )
    with options.override(vendor=str(path)), pytest.raises(OptionError, match=said):
        (random(64, 64).to(DEVICE) @ random(64, 64).to(DEVICE)).cpu()


def test_an_unknown_vendor() -> None:
    with pytest.raises(OptionError, match="no vendor 'libtroch'; built in: libtorch"):
        load_vendor("libtroch")


def test_a_vendor_file_of_the_users_own(tmp_path: Path, calls: list[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        VENDOR.format(library="lib/libtorch_cpu.so\npackage: torch", symbol="sgemm_", signature="gemm-fortran")
    )
    with options.override(vendor=str(path), compile="inline"):
        compare(torch.mm, random(8, 9), random(9, 10))
    assert calls == [f"vendor!{path}!sgemm_"]
