"""What is launched, when, and under which key."""

import gc

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

import mlirdev
from mlirdev import events
from mlirdev.lazy.launchables import launchables
from mlirdev.lazy.storage import cell_of
from mlirdev.lazy.trace import current_trace
from mlirdev.options import options


def flushes(happened):
    return [e for e in happened if isinstance(e, events.Flush)]


def misses(happened):
    return [e for e in flushes(happened) if not e.hit]


def last_graph():
    return list(launchables)[-1].cut.graph


# --- liveness -------------------------------------------------------------------------------------------


def test_outputs_are_what_is_still_held(dev):
    x = torch.ones(3, device=dev)
    y = x * 2
    z = (y + 1).relu()
    del y
    mlirdev.sync()
    graph = last_graph()
    assert len(graph.outputs) == 2  # x and z
    assert z.tolist() == [3.0, 3.0, 3.0]


def test_dead_nodes_are_not_in_the_graph(dev):
    x = torch.ones(3, device=dev)
    mlirdev.sync()
    (x.exp() + 1).sum()
    y = x + 1
    mlirdev.sync()
    assert [node.op for node in last_graph().nodes] == ["aten.add.Tensor"]
    assert y.sum().item() == 6


def test_a_view_keeps_its_base_alive(dev):
    x = torch.arange(4.0, device=dev) * 1
    view = x[1:]
    del x
    gc.collect()
    assert view.tolist() == [1.0, 2.0, 3.0]


def test_saved_tensors_keep_values_alive(dev):
    x = torch.full((3,), 2.0, device=dev, requires_grad=True)
    y = (x * x).exp().sum()
    mlirdev.sync()
    y.backward()
    torch.testing.assert_close(x.grad.cpu(), 4 * torch.exp(torch.full((3,), 4.0)))


def test_nothing_recorded_launches_nothing(dev, happened):
    mlirdev.sync()
    happened.clear()
    mlirdev.sync()
    assert not flushes(happened)


def test_unread_work_is_dropped(dev, happened):
    mlirdev.sync()
    happened.clear()
    torch.ones(3, device=dev).exp()
    mlirdev.sync()
    assert not flushes(happened)


# --- keys ------------------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 4)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        return self.b(self.dropout(F.gelu(self.norm(self.a(x)))))


@pytest.mark.parametrize("foreach", [True, False])
def test_a_training_loop_has_one_key(dev, happened, foreach):
    """Learning rate, bias corrections and dropout masks change each step; gradients are clipped; the loss is read."""
    torch.manual_seed(0)
    model = Net().to(dev)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=foreach)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    for step in range(7):
        if step == 3:
            happened.clear()
        x, y = torch.randn(5, 6).to(dev), torch.randint(4, (5,)).to(dev)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        assert loss.item() > 0
    assert flushes(happened)
    assert not misses(happened)
    assert not [e for e in happened if isinstance(e, events.SpecMiss)]
    assert not [e for e in happened if isinstance(e, events.Fallback)]


def test_scalars_are_inputs(dev, happened):
    x = torch.ones(3, device=dev)
    mlirdev.sync()
    got = []
    for value in (0.5, 1.0, 2.0, 0.0, float("nan")):
        got.append((x * value + value).cpu())
    assert len(misses(happened)) <= 2
    torch.testing.assert_close(torch.stack(got)[:4, 0], torch.tensor([1.0, 2.0, 4.0, 0.0]))


def test_squares_are_structural(dev):
    x = torch.full((3,), 3.0, device=dev)
    mlirdev.sync()
    y, z = x**2, x**2.5
    mlirdev.sync()
    assert last_graph().scalars == ("float",)
    torch.testing.assert_close(y.cpu() + z.cpu(), torch.full((3,), 9 + 3**2.5))


def test_a_cpu_scalar_tensor_is_read_when_recorded(dev, happened):
    x, factor = torch.ones(3, device=dev), torch.tensor(2.0)
    y = x * factor
    factor.fill_(100)
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_two_inputs_of_equal_value_stay_two(dev):
    a, b = torch.ones(3).to(dev), torch.ones(3).to(dev)
    y = a + b
    mlirdev.sync()
    assert len(last_graph().inputs) == 2
    del y


def test_values_that_share_memory_by_chance_stay_two(dev, happened):
    from mlirdev.lazy.storage import cell_of

    a, b = torch.ones(3).to(dev), torch.zeros(3).to(dev)
    cell_of(b).buffer = cell_of(a).buffer
    y = a + b
    mlirdev.sync()
    assert len(last_graph().inputs) == 2
    del y


# --- when ------------------------------------------------------------------------------------------------


def test_an_optimizer_step_launches(dev, happened):
    p = nn.Parameter(torch.ones(3, device=dev))
    p.sum().backward()
    torch.optim.SGD([p], lr=0.1).step()
    assert [e.cause for e in flushes(happened)][-1] == "step"
    assert current_trace().nodes == 0


def test_reading_names_its_cause(dev, happened):
    x = torch.ones(3, device=dev)
    x.sum().item()
    assert flushes(happened)[-1].cause == "value"
    assert flushes(happened)[-1].where.file == __file__
    assert [e.cause for e in happened if isinstance(e, events.Sync)] == ["item"]


def loop_body(x):
    for _ in range(5):
        x = torch.tanh(x * 1.01)
    return x + 0.5


def test_a_loop_that_reads_nothing_is_cut_where_it_comes_round(dev, happened):
    x = torch.ones(4).to(dev)
    with options.override(max_nodes=300):
        for _ in range(300):
            x = loop_body(x)
    assert {e.cause for e in flushes(happened)} == {"limit"}
    assert len(flushes(happened)) >= 8
    # The inner loop's turns look alike from outside, so the cut may fall on any of the five.
    assert len(misses(happened)) <= 6
    want = torch.ones(4)
    for _ in range(300):
        want = loop_body(want)
    torch.testing.assert_close(x.cpu(), want)


def test_a_loop_without_end_is_cut_somewhere(dev, happened):
    x = torch.ones(4).to(dev)
    with options.override(max_nodes=200):
        for i in range(1000):
            x = x + 1 if i % 7 else x * 1
        assert current_trace().nodes < 400
    assert x[0].item() == 1 + 1000 - 143


def test_pending_bytes_are_limited(dev, happened):
    x = torch.ones(1 << 18).to(dev)  # 1 MiB
    with options.override(max_pending_mb=64):
        for _ in range(1000):
            x = x + 1
    assert flushes(happened)


@pytest.mark.parametrize("mode", ["eager", "blocking"])
def test_other_modes_launch_each_op(dev, happened, mode):
    x = torch.ones(3).to(dev)
    with options.override(mode=mode):
        y = x + 1
        assert cell_of(y).buffer is not None
        z = F.softmax(y[1:] * 2, dim=0)
        assert current_trace().nodes == 0
    assert z.tolist() == [0.5, 0.5]
    assert {e.cause for e in flushes(happened)} <= {"mode"}


def test_what_was_interrupted_is_launched_later(dev, monkeypatch):
    from mlirdev import compiler

    x = torch.ones(3, 1, 7).to(dev)
    y = x + 41

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "executable_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            y.cpu()
    z = y * 2
    assert z[0, 0, 0].item() == 84
    assert y.sum().item() == 42 * 21
