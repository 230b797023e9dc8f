"""Errors at the line that made them, of the type that eager raises; lines of forward and backward ops."""

import sys

import pytest
import torch
import torch.nn.functional as F

import mlirdev
from mlirdev import events
from mlirdev.errors import ForbiddenError
from mlirdev.lazy.trace import current_trace
from mlirdev.options import options


def lines_of(trace):
    return {trace.where(i).line: trace.where(i).file for i in range(trace.nodes)}


def here():
    return sys._getframe(1).f_lineno


def test_ops_have_the_users_line(dev):
    mlirdev.sync()
    x = torch.ones(3, device=dev); first = here()  # fmt: skip  # noqa: E702
    y = F.gelu(x); second = here()  # fmt: skip  # noqa: E702
    assert lines_of(current_trace()) == {first: __file__, second: __file__}
    del y


def test_backward_ops_have_the_line_of_their_forward_op(dev):
    x = torch.ones(3, device=dev, requires_grad=True)
    y = torch.tanh(x); tanh = here()  # fmt: skip  # noqa: E702
    z = (y * y).sum(); square = here()  # fmt: skip  # noqa: E702
    mlirdev.sync()
    z.backward(); called = here()  # fmt: skip  # noqa: E702
    trace = current_trace()
    assert set(lines_of(trace)) <= {tanh, square, called}
    assert {tanh, square} <= set(lines_of(trace))
    assert x.grad is not None


def test_wrong_shapes_raise_where_they_are_called(dev):
    with pytest.raises(RuntimeError, match=r"must match the size|broadcast"):
        torch.ones(3, device=dev) + torch.ones(4, device=dev)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.ones(2, 3, device=dev) @ torch.ones(4, 5, device=dev)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(3, device=dev).add_(torch.ones(2, 3, device=dev))


def test_other_devices_raise(dev):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(3, device=dev) + torch.ones(3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(3) + torch.ones(3, device=dev)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        F.linear(torch.ones(2, 3, device=dev), torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="ordinal"):
        torch.ones(3, device="mlirdev:1")


def test_a_cpu_index_is_taken(dev):
    x = torch.arange(4.0, device=dev)
    assert x[torch.tensor([2, 0])].tolist() == [2.0, 0.0]


def test_in_place_into_integers_raises(dev):
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(3, dtype=torch.int64, device=dev).add_(torch.ones(3, device=dev))


def test_a_view_beyond_its_storage_raises(dev):
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        torch.ones(3, device=dev).as_strided((4,), (1,)).cpu()


def test_an_index_out_of_range_is_an_index_error_and_the_process_lives(dev):
    table = torch.ones(3, 2, device=dev)
    mlirdev.sync()
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([5], device=dev), table).cpu()
    assert (table + 1).sum().item() == 12


def test_an_error_of_an_op_on_the_host_names_its_line(dev):
    table, bad = torch.ones(3, 2, device=dev), torch.tensor([5]).to(dev)
    rows = F.embedding(bad, table)
    line = here() - 1
    later = rows * 2
    with pytest.raises(IndexError, match=rf"index out of range in self \(recorded at {__file__}:{line}\)$"):
        later.cpu()
    with pytest.raises(IndexError, match=rf"^index out of range in self \(recorded at {__file__}:{line}\)$"):
        rows.tolist()


def test_a_failed_value_raises_on_each_use(dev):
    bad = F.embedding(torch.tensor([5], device=dev), torch.ones(3, 2, device=dev))
    mlirdev.sync()
    for _ in range(2):
        with pytest.raises(IndexError):
            (bad + 1).cpu()


# --- fallbacks --------------------------------------------------------------------------------------------


def test_writes_whose_order_matters_run_on_the_cpu(dev, happened):
    cpu = torch.tensor([0.0, 2.0, 0.0, 3.0])
    x = cpu.to(dev)
    with options.override(fallback="warn"), pytest.warns(UserWarning, match=r"aten\.add_.*test_errors\.py"):
        x.unfold(0, 2, 1).add_(1)
    assert x.tolist() == add_to_windows(cpu)
    told = [e for e in happened if isinstance(e, events.Fallback)]
    assert [e.cause for e in told] == ["overlap"]
    assert told[0].where.file == __file__


def add_to_windows(x: torch.Tensor) -> list[float]:
    x.unfold(0, 2, 1).add_(1)
    return x.tolist()


def test_a_fallback_may_be_forbidden(dev):
    x = torch.ones(3, device=dev)
    with options.override(fallback="error"), pytest.raises(ForbiddenError):
        add_to_windows(x)
    with mlirdev.no_fallback(), pytest.raises(ForbiddenError):
        add_to_windows(x)
    assert x.tolist() == [1, 1, 1]


def test_waiting_may_be_forbidden(dev):
    x = torch.ones(3, device=dev)
    with mlirdev.no_sync(), pytest.raises(ForbiddenError):
        x.sum().item()
    assert x.sum().item() == 3


def test_a_custom_op_works_at_once(dev):
    @torch.library.custom_op("mlirdev_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with options.override(fallback="allow"):
        assert twice(torch.ones(3, device=dev)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("device", ["cpu", "mlirdev"])
@pytest.mark.parametrize(
    ("dtype", "value", "refused"),
    [
        (torch.int8, 300, True),
        (torch.int8, float("nan"), True),
        (torch.uint8, -1, False),
        (torch.uint8, -300, True),
        (torch.int32, 1 << 40, True),
        (torch.float16, 1e9, True),
        (torch.float16, float("inf"), False),
        (torch.float32, -1e300, True),
        (torch.bool, 300, False),
    ],
)
def test_numbers_must_fit_what_they_fill(device: str, dtype: torch.dtype, value: float, refused: bool) -> None:
    x = torch.ones(3, dtype=dtype, device=device)
    ways = [
        lambda: x.clone().fill_(value),
        lambda: torch.full((3,), value, dtype=dtype, device=device),
        lambda: x.masked_fill(x > 0, value),
        lambda: x.new_full((2,), value),
        lambda: x.scatter(0, torch.zeros(1, dtype=torch.int64, device=device), value),
        lambda: torch.constant_pad_nd(x, (1, 1), value),
    ]
    for way in ways + ways:  # the second time the call is known
        if refused:
            with pytest.raises(RuntimeError, match="without overflow"):
                way()
        else:
            way().cpu()


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_a_number_may_be_a_bool(dev: torch.device, dtype: torch.dtype) -> None:
    x = torch.arange(4, dtype=dtype)
    for _ in range(2):
        assert torch.nn.functional.threshold(x.to(dev), True, True).tolist() == [1, 1, 2, 3]
