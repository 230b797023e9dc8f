"""`out=` and in-place calls accept, resize, cast and refuse destinations as eager does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

import mlirdev
from mlirdev.options import options

from .judge import CPU, DEVICE, told
from .samples import OPS, UNINITIALISED, Call, calls, difference, tensors

# Outside CI, one operator in so many is looked at.
USUAL = 4
STAND_INS = "eager is asked with numbers that it refuses whatever the destination"
FRESH = "eager gives repeated elements memory of their own"
DIFFERENT = {
    "sparse.sampled_addmm": "the device has no sparse tensors",
    "cholesky": STAND_INS,
    "linalg.ldl_solve": STAND_INS,
    "linalg.lu_solve": STAND_INS,
    "lu_unpack": STAND_INS,
    "nn.functional.linear": FRESH,
    "lu_solve": STAND_INS,
}


def parameters(names: Iterable[str]) -> list[Any]:
    marks = {name: pytest.mark.xfail(strict=True, reason=reason) for name, reason in DIFFERENT.items()}
    found = []
    for place, name in enumerate(sorted(names)):
        rare = [] if place % USUAL == 0 else [pytest.mark.exhaustive]
        found.append(pytest.param(name, marks=[*rare, *([marks[name]] if name in marks else [])]))
    return found


WITH_OUT = (name for name, op in OPS.items() if op.supports_out and torch.float32 in op.supported_dtypes("cpu"))
IN_PLACE = sorted(
    name for name, op in OPS.items() if op.inplace_variant and torch.float32 in op.supported_dtypes("cpu")
)


def like(result: Tensor) -> Tensor:
    return torch.zeros_like(result)


def empty(result: Tensor) -> Tensor:
    return result.new_empty(0)


def too_large(result: Tensor) -> Tensor:
    return result.new_zeros((*result.shape, 2))


def transposed(result: Tensor) -> Tensor:
    return torch.zeros_like(result.mT).mT if result.dim() > 1 else like(result)


def wider(result: Tensor) -> Tensor:
    return torch.zeros_like(result, dtype=torch.float64)


def whole_numbers(result: Tensor) -> Tensor:
    return torch.zeros_like(result, dtype=torch.int32)


def repeated(result: Tensor) -> Tensor:
    """Every element in one place; room behind it, since some of the CPU's kernels write past it."""
    return result.new_zeros(result.numel() + 1).as_strided(result.shape, [0] * result.dim())


# On repeated elements, the CPU itself writes past the memory's end.
OVERRUNS = frozenset({"narrow_copy"})
DESTINATIONS = (like, empty, too_large, transposed, wider, whole_numbers, repeated)


@pytest.fixture(autouse=True)
def _quietly():
    with warnings.catch_warnings(), options.override(compile="reference"):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters(WITH_OUT))
def test_out(name: str) -> None:
    call = _first(name)
    if call is None:
        pytest.skip("no sample")
    result = call.run(call.on(CPU))
    if not tensors(result) or len(tensors(result)) != len(_as_list(result)):
        pytest.skip("returns no tensors")
    values = name not in UNINITIALISED and call.is_steady(result, torch.float32)
    wrong = []
    for destination in DESTINATIONS[: -1 if name in OVERRUNS else None]:
        found = _compare(lambda device, d=destination: _with_out(call, result, d, device), values)
        if found is not None:
            wrong.append(f"{destination.__name__}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", parameters(IN_PLACE))
def test_in_place_on_repeated_elements(name: str) -> None:
    call = _first(name)
    if call is None or not isinstance(call.input, Tensor):
        pytest.skip("no sample")
    function = OPS[name].inplace_variant
    assert function is not None

    def run(device: torch.device) -> Any:
        _, args, kwargs = call.on(device)
        return function(repeated(call.input.detach().to(device)), *args, **kwargs)

    found = _compare(run, values=False)
    assert found is None, found


def _first(name: str) -> Call | None:
    return next(iter(calls(OPS[name], torch.float32, 2, differentiable=False)), None)


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _with_out(call: Call, result: Any, destination: Callable[[Tensor], Tensor], device: torch.device) -> Any:
    first, args, kwargs = call.on(device)
    # Moving it would give repeated elements a place each.
    moved = (lambda t: repeated(t.to(device))) if destination is repeated else (lambda t: destination(t).to(device))
    out = tree_map(lambda t: moved(t.detach()), result)
    call.run((first, args, kwargs), out=out)
    return out


def _compare(run: Callable[[torch.device], Any], values: bool) -> str | None:
    """What differs between the devices: the exceptions' types, else the results."""
    wanted, theirs = _outcome(run, CPU)
    got, ours = _outcome(run, DEVICE)
    if type(theirs) is not type(ours):
        return f"{told(ours)}, not {told(theirs)}"
    return difference(got, wanted, torch.float32, values) if theirs is None else None


def _outcome(run: Callable[[torch.device], Any], device: torch.device) -> tuple[Any, Exception | None]:
    try:
        answer = run(device)
        mlirdev.sync()
    except Exception as error:
        return None, error
    return answer, None
