"""Streams through `torch.mlirdev` with compiled kernels: they overlap, events order them, values cross over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

import mlirdev
from mlirdev import events

M = torch.mlirdev  # type: ignore[attr-defined]


@contextmanager
def held(stream: torch.Stream) -> Iterator[threading.Event]:
    """What is launched on `stream` waits until the event is set."""
    gate = threading.Event()
    stream.native.enqueue(lambda: gate.wait() and None)  # type: ignore[attr-defined]
    try:
        yield gate
    finally:
        gate.set()
        stream.synchronize()


def test_two_streams_overlap() -> None:
    a, b = M.Stream(), M.Stream()
    x = torch.arange(12.0).reshape(3, 4).to("mlirdev")
    M.synchronize()
    with held(a) as gate:
        with M.stream(a):
            slow = torch.tanh(x @ x.T)
            behind = a.record_event()
        with M.stream(b):
            quick = (x * 2).sum().item()
        # Work on b was compiled, launched and read while a's hadn't begun.
        assert quick == 132.0
        assert not behind.query()
        gate.set()
        a.synchronize()
    assert behind.query()
    with M.stream(a):
        torch.testing.assert_close(slow.cpu(), torch.tanh(x.cpu() @ x.cpu().T))


def test_an_event_orders_two_streams() -> None:
    a, b = M.Stream(), M.Stream()
    x = torch.arange(6.0).to("mlirdev")
    M.synchronize()
    with held(a) as gate:
        with M.stream(a):
            y = x.exp() + 1
            done = a.record_event()
        b.wait_event(done)
        with M.stream(b):
            z = y * 3
            after = b.record_event()
        assert not after.query()
        gate.set()
        with M.stream(b):
            torch.testing.assert_close(z.cpu(), (x.cpu().exp() + 1) * 3)


def test_a_value_pending_on_another_stream_is_launched_there(happened: list[events.Event]) -> None:
    side = M.Stream()
    x = torch.arange(6.0).to("mlirdev")
    side.wait_stream(M.current_stream())
    with M.stream(side):
        y = torch.sqrt(x)
    M.current_stream().wait_stream(side)
    happened.clear()
    with M.stream(side):
        z = y + 1
    total = z.sum()
    assert [e.cause for e in happened if isinstance(e, events.Flush)] == ["cross_stream"]
    M.current_stream().wait_stream(side)
    torch.testing.assert_close(total.cpu(), (x.cpu().sqrt() + 1).sum())


def test_a_backward_pass_runs_on_its_forwards_stream() -> None:
    side = M.Stream()
    w = torch.ones(4, 4).to("mlirdev").requires_grad_()
    x = torch.arange(8.0).reshape(2, 4).to("mlirdev")
    side.wait_stream(M.current_stream())
    with M.stream(side):
        torch.sigmoid(x @ w).sum().backward()
    M.current_stream().wait_stream(side)
    assert w.grad is not None
    cpu = torch.ones(4, 4).requires_grad_()
    torch.sigmoid(x.cpu() @ cpu).sum().backward()
    torch.testing.assert_close(w.grad.cpu(), cpu.grad)


@pytest.mark.parametrize("threads", [3])
def test_threads_with_streams_of_their_own(threads: int) -> None:
    x = torch.arange(20.0).to("mlirdev")
    M.synchronize()
    found: dict[int, list[float]] = {}

    def work(n: int) -> None:
        with M.stream(M.Stream()):
            found[n] = [torch.sin(x * (n + 1) + i).sum().item() for i in range(5)]

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for n, sums in found.items():
        expected = [torch.sin(x.cpu() * (n + 1) + i).sum().item() for i in range(5)]
        torch.testing.assert_close(torch.tensor(sums), torch.tensor(expected), rtol=1e-4, atol=1e-4)
    assert len(found) == threads
    assert mlirdev.metrics.snapshot()["live_nodes"] == 0
