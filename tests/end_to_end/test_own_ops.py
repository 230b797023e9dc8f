"""Ops that aren't native: one written for the CPU works at once through the fallback, a lowering makes it native."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

import mlirdev
from mlirdev import events
from mlirdev.errors import ForbiddenError
from mlirdev.options import options

HERE = __file__.rpartition("/")[2]


@torch.library.custom_op("mlirdev_end_to_end::soft_clip", mutates_args=(), device_types="cpu")
def soft_clip(x: Tensor, limit: float) -> Tensor:
    return torch.tanh(x / limit) * limit


@torch.library.custom_op("mlirdev_end_to_end::halve", mutates_args=(), device_types="cpu")
def halve(x: Tensor) -> Tensor:
    return x / 2


def fallbacks(happened: list[events.Event]) -> list[events.Fallback]:
    return [e for e in happened if isinstance(e, events.Fallback)]


def test_a_custom_op_for_every_device_is_recorded() -> None:
    """Its body is made of PyTorch's ops, and they are native."""

    @torch.library.custom_op("mlirdev_end_to_end::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x + x

    with mlirdev.no_fallback():
        assert double(torch.ones(3).to("mlirdev")).tolist() == [2.0, 2.0, 2.0]


def test_a_custom_op_works_at_once_and_a_lowering_makes_it_native(happened: list[events.Event]) -> None:
    cpu = torch.linspace(-3, 3, 7)
    x, expected = cpu.to("mlirdev"), soft_clip(cpu, 2.0) + 1
    with options.override(fallback="warn"), pytest.warns(UserWarning, match=rf"soft_clip.*CPU at .*{HERE}:\d+"):
        result = soft_clip(x * 1, 2.0) + 1
    torch.testing.assert_close(result.cpu(), expected)
    (told,) = fallbacks(happened)
    assert told.where is not None
    assert told.where.file == __file__
    with mlirdev.no_fallback(), pytest.raises(ForbiddenError, match=r"register_(lowering|fake)"):
        soft_clip(x, 2.0)

    mlirdev.register_lowering("mlirdev_end_to_end::soft_clip", lambda x, limit: torch.tanh(x / limit) * limit)
    happened.clear()
    with mlirdev.no_fallback():
        for limit in (2.0, 0.5):
            torch.testing.assert_close((soft_clip(x, limit) + 1).cpu(), soft_clip(cpu, limit) + 1)
    # One graph for both, as the limit is an input.
    assert len({e.graph for e in happened if isinstance(e, events.Flush) and e.nodes > 1}) == 1


def test_a_lowering_for_an_op_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no op 'mlirdev_end_to_end::nothing'"):
        mlirdev.register_lowering("mlirdev_end_to_end::nothing", lambda x: x)


def test_a_fallback_warns_once_per_op_and_is_counted_each_time(happened: list[events.Event]) -> None:
    x = torch.arange(4.0).to("mlirdev")
    with options.override(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert halve(x).tolist() == [0.0, 0.5, 1.0, 1.5]
    assert len([w for w in caught if "halve" in str(w.message)]) == 1
    assert len(fallbacks(happened)) == 3


def test_what_would_wait_raises_before_it_waits(happened: list[events.Event]) -> None:
    x = torch.arange(4.0).to("mlirdev") + 1
    happened.clear()
    for read in (lambda: x.sum().item(), lambda: bool(x[0] > 0), lambda: x.cpu(), lambda: repr(x), x.tolist):
        with mlirdev.no_sync(), pytest.raises(ForbiddenError, match=rf"{HERE}:\d+.*no_sync"):
            read()
    assert not [e for e in happened if isinstance(e, events.Sync)]
    with mlirdev.no_sync():
        y = x * 2
        torch.mlirdev.synchronize()  # type: ignore[attr-defined]
    assert y.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_explain_names_line_and_remedy() -> None:
    from mlirdev.explain import clear

    clear()
    x = torch.tensor([0.0, 2.0, 3.0]).to("mlirdev")
    with options.override(fallback="allow"):
        for _ in range(3):
            (x * 1.5).sum().item()
        x.unfold(0, 2, 1).add_(1)
    text = str(mlirdev.explain())
    assert text.count("item: 3 times") == 1
    assert "aten.add_.Tensor: on the CPU once" in text
    for line in text.splitlines():
        if "item: 3 times" in line or "aten.add_" in line:
            assert f"{__file__}:" in line
    assert "every N steps" in text
    assert "clone()" in text


def test_explain_says_what_differed() -> None:
    from mlirdev.explain import clear

    x = torch.rand(5, 3).to("mlirdev")
    clear()
    torch.sin(x @ x.T).cpu()
    torch.sin(x[:4] @ x[:4].T).cpu()
    text = str(mlirdev.explain())
    assert "because:" in text
    assert "5" in text.rpartition("because:")[2]
