"""Recording on several streams (decision 19): no wait that the user didn't ask for, a flush where a value crosses."""

import threading

import pytest
import torch

import mlirdev
from mlirdev import events
from mlirdev.lazy import streams
from mlirdev.lazy.lines import forward


def flushes(happened) -> list[tuple[str, int]]:
    return [(e.cause, e.nodes) for e in happened if isinstance(e, events.Flush)]


@pytest.fixture
def other():
    return torch.mlirdev.Stream()


def test_a_value_pending_on_another_stream_is_launched_there(dev, other, happened):
    x = torch.ones(4, device=dev)
    torch.mlirdev.synchronize()
    happened.clear()
    y = x + 1
    with torch.mlirdev.stream(other):
        z = y * 2
        assert flushes(happened) == [("cross_stream", 1)]
        torch.mlirdev.default_stream().synchronize()  # the user's order
        assert z.tolist() == [4.0] * 4
    assert not any(isinstance(e, events.Sync) and e.cause == "cross_stream" for e in happened)


def test_crossing_adds_no_wait(dev, other, monkeypatch):
    waits = []
    for name in ("wait_event", "wait_stream", "synchronize"):
        original = getattr(type(streams.default()), name)
        monkeypatch.setattr(
            type(streams.default()),
            name,
            lambda self, *args, original=original, name=name: (waits.append(name), original(self, *args))[1],
        )
    y = torch.ones(4, device=dev) + 1
    with torch.mlirdev.stream(other):
        y * 2
    assert waits == []


def test_an_event_orders_what_is_recorded_after_it(dev, other, happened):
    x = torch.ones(4, device=dev)
    event = torch.mlirdev.Event()
    y = x + 1
    event.record()
    with torch.mlirdev.stream(other):
        other.wait_event(event)
        z = y * 3
    torch.mlirdev.current_stream().wait_stream(other)
    assert (z + y).tolist() == [8.0] * 4
    causes = [cause for cause, _ in flushes(happened)]
    assert causes.count("event") == 2  # what the event awaits, and what the default stream then awaits
    assert "cross_stream" not in causes


def test_each_stream_keeps_a_trace_of_its_own(dev, other, happened):
    x = torch.ones(4, device=dev)
    torch.mlirdev.synchronize()
    happened.clear()
    a = x + 1
    with torch.mlirdev.stream(other):
        b = x * 5
    c = a + 1
    assert flushes(happened) == []
    assert c.tolist() == [3.0] * 4
    assert flushes(happened) == [("value", 2)]
    with torch.mlirdev.stream(other):
        assert b.tolist() == [5.0] * 4


def test_backward_runs_on_the_stream_of_its_forward(dev, other, happened):
    x = torch.ones(4, device=dev, requires_grad=True)
    torch.mlirdev.synchronize()
    with torch.mlirdev.stream(other):
        y = (x * 3).exp().sum()
    torch.mlirdev.synchronize()
    assert any(stream is streams.by_number(other.stream_id) for _, _, stream in forward.values())
    happened.clear()
    y.backward()
    streams.synchronize(streams.by_number(other.stream_id))
    # The first gradient is made on the calling thread's stream.
    assert [cause for cause, _ in flushes(happened)] == ["cross_stream", "synchronize"]


def test_gradients_are_ordered_as_autograd_does_it(dev, other):
    gate = threading.Event()
    x = torch.ones(4, device=dev, requires_grad=True)
    torch.mlirdev.synchronize()
    with torch.mlirdev.stream(other):
        y = (x * 3).sum()
    streams.by_number(other.stream_id).enqueue(gate.wait)  # what follows there is late
    y.backward()
    doubled = x.grad * 2
    mlirdev.sync()
    gate.set()
    assert doubled.tolist() == [6.0] * 4
