"""Values that a step replaces are written over only if nobody could still want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev.lazy.storage import cell_of
from mlirdev.options import options

COUNT = 4


@pytest.fixture(autouse=True, params=["reference", "workers"])
def compile_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    with options.override(compile=request.param):
        yield
        mlirdev.sync()


def parameters(device: str = "mlirdev") -> list[Tensor]:
    tensors = [torch.full((8, 8), float(i), device=device) for i in range(COUNT)]
    mlirdev.sync()
    return tensors


def step(tensors: list[Tensor]) -> None:
    """Each becomes its matrix square plus one: what is read can't be what is written."""
    for tensor in tensors:
        tensor.copy_(tensor @ tensor + 1)


def addresses(tensors: list[Tensor]) -> set[int]:
    buffers = [cell_of(t).buffer for t in tensors]
    return {b.address for b in buffers if b is not None}


def expected(turns: int) -> list[Tensor]:
    tensors = parameters("cpu")
    for _ in range(turns):
        step(tensors)
    return tensors


def check(tensors: list[Tensor], turns: int) -> None:
    for ours, theirs in zip(tensors, expected(turns), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


def test_a_step_needs_little_more_memory_than_the_parameters() -> None:
    tensors = parameters()
    step(tensors)
    mlirdev.sync()
    before = addresses(tensors)
    step(tensors)
    mlirdev.sync()
    assert len(before & addresses(tensors)) >= COUNT - 1
    check(tensors, 2)


HOLDERS: dict[str, Callable[[Tensor], object]] = {
    "clone": lambda t: t.clone(),
    "a view of a clone": lambda t: t.clone().t()[1:],
    "a copy": lambda t: torch.empty(8, 8, device="mlirdev").copy_(t),
    "deepcopy": lambda t: __import__("copy").deepcopy(t),
    "the host, later": lambda t: t.to("cpu", non_blocking=True),
    "a list": lambda t: torch.stack([t, t]).unbind()[0],
}


@pytest.mark.parametrize("name", HOLDERS)
def test_who_holds_a_value_keeps_it(name: str) -> None:
    tensors = parameters()
    for turn in range(3):
        held = [HOLDERS[name](t) for t in tensors]
        before = expected(turn)
        step(tensors)
        mlirdev.sync()
        step(tensors)
        torch.mlirdev.synchronize()
        for holder, value in zip(held, before, strict=True):
            assert isinstance(holder, Tensor)
            torch.testing.assert_close(holder.cpu(), value.t()[1:] if "view" in name else value)
        tensors = [t.to("mlirdev") for t in expected(turn + 1)]
        mlirdev.sync()


def test_views_and_detached_aliases_see_what_was_written() -> None:
    tensors = parameters()
    views = [(t[2:], t.detach(), t.t(), t.data) for t in tensors]
    step(tensors)
    mlirdev.sync()
    step(tensors)
    for aliases, value in zip(views, expected(2), strict=True):
        for alias, theirs in zip(aliases, (value[2:], value, value.t(), value), strict=True):
            torch.testing.assert_close(alias.cpu(), theirs)


def test_what_backward_saved_keeps_its_value() -> None:
    tensors = parameters()
    x = torch.ones(8, 8, device="mlirdev", requires_grad=True)
    kept = sum((x * t.clone()).exp() for t in tensors)
    assert isinstance(kept, Tensor)
    mlirdev.sync()
    step(tensors)
    mlirdev.sync()
    step(tensors)
    kept.sum().backward()
    reference = torch.ones(8, 8, requires_grad=True)
    sum((reference * t).exp() for t in parameters("cpu")).sum().backward()  # type: ignore[union-attr]
    assert x.grad is not None
    assert reference.grad is not None
    torch.testing.assert_close(x.grad.cpu(), reference.grad)


def test_a_saved_tensor_that_was_written_is_refused_as_in_eager() -> None:
    tensors = parameters()
    x = torch.ones(8, 8, device="mlirdev", requires_grad=True)
    y = x * tensors[0]
    mlirdev.sync()
    step(tensors)
    mlirdev.sync()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_trace_of_another_stream_keeps_what_it_reads() -> None:
    tensors = parameters()
    other = torch.mlirdev.Stream()
    with torch.mlirdev.stream(other):
        read = [t * 3 for t in tensors]  # pending there
    step(tensors)
    mlirdev.sync()
    step(tensors)
    torch.mlirdev.synchronize()
    with torch.mlirdev.stream(other):
        for ours, theirs in zip(read, parameters("cpu"), strict=True):
            torch.testing.assert_close(ours.cpu(), theirs * 3)
    check(tensors, 2)


def test_memory_used_on_another_stream_stays() -> None:
    tensors = parameters()
    other = torch.mlirdev.Stream()
    for tensor in tensors:
        tensor.record_stream(other)
    before = addresses(tensors)
    step(tensors)
    mlirdev.sync()
    assert not before & addresses(tensors)


def test_a_launch_that_was_interrupted_behind_it_does_not_run_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = parameters()
    step(tensors)
    mlirdev.sync()
    step(tensors)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mlirdev.lazy.flush._hand_out", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mlirdev.sync()
    check(tensors, 2)


def test_a_step_that_fails_poisons_what_it_would_have_written() -> None:
    tensors = parameters()
    index = torch.tensor([0, 99], device="mlirdev")
    for tensor in tensors:
        tensor.copy_(tensor @ tensor + tensor[0].index_select(0, index).sum())
    for tensor in tensors:
        with pytest.raises((IndexError, RuntimeError)):
            tensor.cpu()
    fresh = parameters()
    step(fresh)
    check(fresh, 1)
