"""`torch.compile(…, backend="mlirdev")` gives what the same program gives uncompiled, on the CPU or recorded."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import mlirdev
from mlirdev import events

DEVICE = "mlirdev"
pytestmark = pytest.mark.filterwarnings("ignore")  # Dynamo's own


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    result: Callable[..., Any] = torch.compile(function, backend="mlirdev", **{"fullgraph": True, **options})
    return result


def launches(seen: list[events.Event]) -> list[str]:
    """The causes of the launches seen, and no longer seen."""
    causes = [event.cause for event in seen if isinstance(event, events.Flush)]
    seen.clear()
    return causes


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


# --- results ------------------------------------------------------------------------------------------


def affine(x: Tensor, y: Tensor) -> Tensor:
    return (x @ y).relu() + 1


def views(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x, x.t(), x[1:], (x * y).t(), y.view(-1)[2:6].view(2, 2)


def aliases(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x + y
    return z, z.view(-1), z[0], z[1:]


def made_here(x: Tensor, y: Tensor) -> list[Tensor]:
    made = torch.arange(4, device=x.device) + torch.tensor([1, 2, 3, 4], device=x.device)
    return [made, torch.zeros(2, 3, device=x.device), torch.full_like(x, x.shape[0]), y.new_ones(3) * 2]


def structured(x: Tensor, y: Tensor) -> dict[str, Any]:
    return {"sum": x.sum(), "more": [y.amax(1), (y.argmax(0), x.shape[0])], "none": None}


def empty(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x[:0], y[:0] * 2])


FUNCTIONS = [affine, views, aliases, made_here, structured, empty]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_eagers(function: Callable[..., Any], happened: list[events.Event]) -> None:
    x, y = random(4, 4), random(4, 4)
    ours = compiled(function)
    for _ in range(2):
        got = ours(x.to(DEVICE), y.to(DEVICE))
        moved = torch.utils._pytree.tree_map_only(Tensor, lambda t: t.cpu(), got)
        torch.testing.assert_close(moved, function(x, y))
    wanted = torch.utils._pytree.tree_leaves(function(x, y))
    for ours_leaf, leaf in zip(torch.utils._pytree.tree_leaves(got), wanted, strict=True):
        if isinstance(leaf, Tensor):
            assert (ours_leaf.stride(), ours_leaf.shape) == (leaf.stride(), leaf.shape)


def test_results_share_memory_as_in_eager() -> None:
    x, y = random(4, 4).to(DEVICE), random(4, 4).to(DEVICE)
    with torch.no_grad():
        whole, flat, row, rest = compiled(aliases)(x, y)
        whole[0, 0], whole[1, 0] = 5, 7
        assert (flat[0].item(), row[0].item(), flat[4].item(), rest[0, 0].item()) == (5, 5, 7, 7)
        same, turned, *_ = compiled(views)(x, y)
        x[0, 1] = 9
        assert (same[0, 1].item(), turned[1, 0].item()) == (9, 9)


@pytest.mark.parametrize("make", [Tensor.t, lambda x: x[1:, ::2], lambda x: x[:, :1].expand(5, 4), lambda x: x[1]])
def test_arguments_that_are_views(make: Callable[[Tensor], Tensor]) -> None:
    x = random(5, 4)
    ours = compiled(lambda x: x * 2 + 1)
    torch.testing.assert_close(ours(make(x.to(DEVICE))).cpu(), make(x) * 2 + 1)


def test_views_that_differ_in_their_offset_only() -> None:
    x = random(5, 4)
    ours = compiled(lambda x: x * 2)
    for i in range(3):
        torch.testing.assert_close(ours(x.to(DEVICE)[i : i + 2]).cpu(), x[i : i + 2] * 2)


def test_channels_last() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()).to(memory_format=torch.channels_last)
    x = random(2, 3, 5, 5).to(memory_format=torch.channels_last)
    wanted = model(x)
    got = compiled(model.to(DEVICE))(x.to(DEVICE))
    torch.testing.assert_close(got.cpu(), wanted)
    assert got.stride() == wanted.stride()


# --- calls --------------------------------------------------------------------------------------------


def test_a_call_records_nothing_and_launches_once(happened: list[events.Event]) -> None:
    ours = compiled(affine)
    x, y = random(4, 4).to(DEVICE), random(4, 4).to(DEVICE)
    ours(x, y)
    launches(happened)
    for _ in range(3):
        x = ours(x, y)
    assert all(event.nodes == 0 for event in happened if isinstance(event, events.Flush))
    assert launches(happened) == ["compiled"] * 3


def test_recorded_arguments_are_launched_first(happened: list[events.Event]) -> None:
    ours = compiled(affine)
    x, y = random(4, 4).to(DEVICE), random(4, 4).to(DEVICE)
    ours(x, y)
    launches(happened)
    ours(x + 1, y)
    assert [(e.cause, e.nodes) for e in happened if isinstance(e, events.Flush)] == [("compiled", 1), ("compiled", 0)]


def test_the_line_of_an_op_that_fails() -> None:
    def take(x: Tensor, i: Tensor) -> Tensor:
        return x[i] + 1

    x, i = random(4, 4).to(DEVICE), torch.tensor([1, 9]).to(DEVICE)
    with mlirdev.options.override(compile="inline"), pytest.raises(IndexError, match=r"test_compile.py:\d+\)"):
        compiled(take)(x, i).cpu()


# --- arguments that are written -------------------------------------------------------------------------


def in_place(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    y[1:].mul_(2)
    return x.sum() + y


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[1:3], lambda x: x.t()])
def test_arguments_are_written(part: Callable[[Tensor], Tensor]) -> None:
    x, y, theirs = random(4, 4), random(4, 4), in_place
    ours_x, ours_y, ours = x.to(DEVICE), y.to(DEVICE), compiled(in_place)
    for _ in range(2):
        torch.testing.assert_close(ours(part(ours_x), part(ours_y)).cpu(), theirs(part(x), part(y)))
    torch.testing.assert_close((ours_x.cpu(), ours_y.cpu()), (x, y))


def test_one_argument_that_two_names_have() -> None:
    def swap(x: Tensor, y: Tensor) -> None:
        old = x.clone()
        x.copy_(y)
        y.copy_(old)

    x, y = random(3), random(3) + 1
    ours = compiled(swap)
    a, b = x.to(DEVICE), y.to(DEVICE)
    ours(a, b)
    assert torch.equal(a.cpu(), y)
    assert torch.equal(b.cpu(), x)
    ours(a, a)
    assert torch.equal(a.cpu(), y)


# --- training -----------------------------------------------------------------------------------------


def make() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.BatchNorm1d(16), nn.Dropout(0.4), nn.Linear(16, 3))


def train(model: Callable[[Tensor], Tensor], module: nn.Module, batches: list[int]) -> list[float]:
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.05)
    torch.manual_seed(1)
    losses = []
    for n in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(random(n, 6).to(DEVICE)), torch.arange(n, device=DEVICE) % 3)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_training_with_dropout_and_running_statistics(dynamic: bool | None) -> None:
    """The same random numbers as in recorded code, and the same buffers."""
    ours, recorded = make().to(DEVICE), make().to(DEVICE)
    sizes = [5, 5, 7, 4]
    wanted = train(recorded, recorded, sizes)
    assert train(compiled(ours, dynamic=dynamic), ours, sizes) == pytest.approx(wanted, rel=1e-5)
    torch.testing.assert_close(ours.state_dict(), recorded.state_dict())


def test_gradients_of_inputs_and_of_several_results() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (x * y).sin(), (x @ y).exp()

    def gradients(function: Callable[..., Any], device: str) -> list[Tensor]:
        x, y = (random(3, 3).to(device).requires_grad_() for _ in range(2))
        a, b = function(x, y)
        (a.sum() + b.square().sum()).backward()
        assert x.grad is not None
        assert y.grad is not None
        return [x.grad.cpu(), y.grad.cpu()]

    torch.testing.assert_close(gradients(compiled(function), DEVICE), gradients(function, "cpu"))


# --- sizes --------------------------------------------------------------------------------------------


def compiles(function: Callable[[], Any]) -> int:
    """How many graphs are compiled for real meanwhile."""
    with mlirdev.options.override(compile="inline"):
        before = mlirdev.metrics.snapshot()
        function()
        after = mlirdev.metrics.snapshot()
    return int(sum(after[name] - before[name] for name in ("compiles", "graph_disk_hits")))


@pytest.mark.parametrize(("dynamic", "wanted"), [(None, 2), (True, 1)])
def test_sizes_become_inputs(dynamic: bool | None, wanted: int) -> None:
    def function(x: Tensor) -> Tensor:
        return (x.repeat(2, 1) + x.shape[0]).softmax(0) * torch.arange(x.shape[1], device=x.device)

    ours = compiled(function, dynamic=dynamic)

    def call() -> None:
        for n in (4, 6, 9, 5):
            x = random(n, 3 + wanted)  # a graph of this test's own
            torch.testing.assert_close(ours(x.to(DEVICE)).cpu(), function(x))

    assert compiles(call) == wanted


def test_sizes_in_a_backward_pass() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        y = torch.cat([x, x[1:]]).reshape(-1, 2, 3)
        return (y.transpose(0, 1) @ w).sum((0, 2))

    def gradient(function: Callable[..., Tensor], x: Tensor, w: Tensor) -> Tensor:
        w = w.detach().requires_grad_()
        function(x, w).square().sum().backward()
        assert w.grad is not None
        return w.grad.cpu()

    ours = compiled(function, dynamic=True)
    for n in (4, 5, 9):
        x, w = random(n, 6), random(3, 4)
        torch.testing.assert_close(gradient(ours, x.to(DEVICE), w.to(DEVICE)), gradient(function, x, w))


# --- random numbers -------------------------------------------------------------------------------------


def test_random_numbers_are_those_of_recorded_code() -> None:
    def draw(x: Tensor) -> tuple[Tensor, ...]:
        return torch.rand_like(x), torch.randn(3, device=x.device), torch.bernoulli(x), nn.functional.dropout(x, 0.5)

    x = torch.full((4, 4), 0.5, device=DEVICE)
    ours = compiled(draw)
    for _ in range(2):
        torch.manual_seed(3)
        got = [*ours(x), *ours(x), torch.rand(2, device=DEVICE)]
        torch.manual_seed(3)
        wanted = [*draw(x), *draw(x), torch.rand(2, device=DEVICE)]
        assert all(map(torch.equal, [t.cpu() for t in got], [t.cpu() for t in wanted]))


def test_random_numbers_of_a_checkpoint_are_drawn_again() -> None:
    def gradients(wrap: Callable[..., Any]) -> Tensor:
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)).to(DEVICE)
        x = random(4, 6).to(DEVICE).requires_grad_()
        function = wrap(lambda x: torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum())
        for _ in range(2):
            function(x).backward()
        assert x.grad is not None
        return x.grad.cpu()

    torch.testing.assert_close(gradients(compiled), gradients(lambda function: function))


# --- the CPU beside it ------------------------------------------------------------------------------------


def test_numbers_on_the_cpu_are_inputs(happened: list[events.Event]) -> None:
    ours = compiled(lambda x, n: x * n + n)
    for n in (2.0, 3.0):
        torch.testing.assert_close(ours(random(3).to(DEVICE), torch.tensor(n)).cpu(), random(3) * n + n)
    assert launches(happened).count("compiled") == 2


def test_ops_on_the_cpu_run_between_programs() -> None:
    def function(x: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = (x + 1).cpu() * 2
        return y.sin().to(x.device) * x, y, count + 1

    got = compiled(function)(random(3).to(DEVICE), torch.tensor(4))
    assert [t.device.type for t in got] == [DEVICE, "cpu", "cpu"]
    torch.testing.assert_close([t.cpu() for t in got], [*function(random(3), torch.tensor(4))])


def test_tensors_of_two_devices_in_one_op_are_refused() -> None:
    with pytest.raises(Exception, match="mlirdev:0 and cpu"):
        compiled(affine)(random(4, 4).to(DEVICE), random(4, 4))


def test_a_model_on_the_cpu_stays_there_and_says_so() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = compiled(affine)(random(4, 4), random(4, 4))
    assert torch.equal(result, affine(random(4, 4), random(4, 4)))
    assert any("runs uncompiled on the CPU" in str(w.message) for w in said)


# --- values that decide --------------------------------------------------------------------------------


def test_a_graph_break_where_a_value_decides() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    ours = compiled(function, fullgraph=False)
    for sign in (1, -1):
        x = random(3).abs() * sign
        torch.testing.assert_close(ours(x.to(DEVICE)).cpu(), function(x))


def test_branches_by_value_stay_in_the_graph() -> None:
    def function(x: Tensor) -> Tensor:
        result: Tensor = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        return result * 2

    ours = compiled(function)
    for sign in (1, -1):
        x = random(3, 2).abs() * sign
        torch.testing.assert_close(ours(x.to(DEVICE)).cpu(), function(x))


def test_sizes_that_values_decide_stay_in_the_graph() -> None:
    def function(x: Tensor) -> Tensor:
        return x[x > 0] * 2

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        ours = compiled(function)
        for n in (4, 4):
            torch.testing.assert_close(ours(random(n, 6).to(DEVICE)).cpu(), function(random(n, 6)))


# --- options ------------------------------------------------------------------------------------------


def test_frozen_parameters_are_constants(happened: list[events.Event]) -> None:
    model = make().to(DEVICE).eval()
    x = random(5, 6).to(DEVICE)
    ours = compiled(copy.copy(model), options={"freeze": True})
    with torch.no_grad():
        wanted = model(x).cpu()
        torch.testing.assert_close(ours(x).cpu(), wanted)
        for p in model.parameters():
            p.zero_()
        torch.testing.assert_close(ours(x).cpu(), wanted)
        torch._dynamo.reset()
        torch.testing.assert_close(ours(x).cpu(), model(x).cpu())
    with pytest.raises(Exception, match=r"freeze.*is for inference"):
        compiled(make().to(DEVICE), options={"freeze": True})(x)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"options": {"freze": True}}, "did you mean 'freeze'"),
        ({"options": {"freeze": 1}}, "takes True or False"),
        ({"mode": "max-autotoon"}, "did you mean 'max-autotune'"),
    ],
)
def test_unknown_choices_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match=said):
        compiled(affine, **options)(random(4, 4).to(DEVICE), random(4, 4).to(DEVICE))


def test_known_modes_are_taken() -> None:
    x = random(4, 4).to(DEVICE)
    torch.testing.assert_close(compiled(affine, mode="reduce-overhead")(x, x).cpu(), affine(x, x).cpu())


def test_the_backend_is_known_without_an_import() -> None:
    assert "mlirdev" in torch._dynamo.list_backends()
