"""Order within a stream, overlap and order between streams, events, failures. Nothing here depends on time."""

from __future__ import annotations

import threading

import pytest

from mlirdev.runtime import Device, Event

# Long enough for the slowest machine: only a deadlock reaches it.
PATIENCE = 60


def test_tasks_run_in_order(device: Device) -> None:
    stream, seen = device.default_stream, []
    for i in range(200):
        stream.enqueue(lambda i=i: seen.append(i))
    stream.run(lambda: seen.append(-1))
    stream.enqueue(lambda: seen.append(-2))
    stream.synchronize()
    assert seen == [*range(200), -1, -2]


def test_a_waited_task_on_an_idle_stream_runs_on_the_waiting_thread(device: Device) -> None:
    seen: list[int] = []
    device.default_stream.run(lambda: seen.append(threading.get_ident()))
    assert seen == [threading.get_ident()]
    device.default_stream.enqueue(lambda: seen.append(threading.get_ident()))
    device.default_stream.synchronize()
    assert seen[1] != seen[0]


def test_two_streams_overlap(device: Device) -> None:
    meeting = threading.Barrier(2)
    for stream in (device.new_stream(), device.new_stream()):
        stream.enqueue(lambda: meeting.wait(PATIENCE) and None)
    device.synchronize()
    assert not meeting.broken


def test_an_event_orders_two_streams(device: Device) -> None:
    first, second, seen = device.new_stream(), device.new_stream(), []
    gate = threading.Event()
    first.enqueue(lambda: gate.wait(PATIENCE) and None)
    first.enqueue(lambda: seen.append("first"))
    event = first.record_event()
    first.enqueue(lambda: gate.wait(PATIENCE) and None)
    second.wait_event(event)
    second.enqueue(lambda: seen.append("second"))
    assert not event.query()
    assert not second.query()
    gate.set()
    second.synchronize()
    assert event.query()
    assert seen == ["first", "second"]


def test_wait_stream_orders_all_that_was_enqueued(device: Device) -> None:
    first, second, seen = device.new_stream(), device.new_stream(), []
    gate = threading.Event()
    first.enqueue(lambda: gate.wait(PATIENCE) and None)
    for i in range(10):
        first.enqueue(lambda i=i: seen.append(i))
    second.wait_stream(first)
    second.enqueue(lambda: seen.append("second"))
    gate.set()
    device.synchronize()
    assert seen == [*range(10), "second"]


def test_waits_in_both_directions_end(device: Device) -> None:
    a, b, seen = device.new_stream(), device.new_stream(), []
    for i in range(50):
        a.enqueue(lambda i=i: seen.append(("a", i)))
        b.wait_stream(a)
        b.enqueue(lambda i=i: seen.append(("b", i)))
        a.wait_stream(b)
    device.synchronize()
    assert seen == [(name, i) for i in range(50) for name in "ab"]


def test_events_time_and_count_as_complete_when_not_recorded(device: Device) -> None:
    stream, never = device.default_stream, Event()
    never.synchronize()
    assert never.query()
    start = stream.record_event()
    stream.enqueue(lambda: None)
    end = stream.record_event()
    with pytest.raises(RuntimeError, match="must be recorded"):
        never.elapsed_time(end)
    end.synchronize()
    assert start.elapsed_time(end) > 0
    assert end.elapsed_time(start) < 0


def test_elapsed_time_of_an_incomplete_event_is_an_error(device: Device) -> None:
    stream, gate = device.default_stream, threading.Event()
    start = stream.record_event()
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    end = stream.record_event()
    with pytest.raises(RuntimeError, match="must be completed"):
        start.elapsed_time(end)
    gate.set()
    end.synchronize()


def test_recording_again_moves_the_event(device: Device) -> None:
    stream, gate = device.default_stream, threading.Event()
    event = stream.record_event()
    assert event.query()
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    event.record(stream)
    assert not event.query()
    gate.set()
    event.synchronize()


def test_a_failure_completes_its_events_and_surfaces_once_at_the_next_wait(device: Device) -> None:
    stream, seen = device.default_stream, []

    def fail() -> None:
        raise ValueError("broken")

    stream.enqueue(fail)
    event = stream.record_event()
    stream.enqueue(lambda: seen.append(1))
    with pytest.raises(ValueError, match="broken"):
        event.synchronize()
    stream.synchronize()
    assert event.query()
    assert seen == [1]


def test_a_failure_of_one_stream_does_not_surface_on_another(device: Device) -> None:
    a, b = device.new_stream(), device.new_stream()

    def fail() -> None:
        raise ValueError("broken")

    a.run(fail)
    b.synchronize()
    with pytest.raises(ValueError, match="broken"):
        device.synchronize()


def test_a_task_that_waits_for_its_own_stream_is_an_error_and_no_deadlock(device: Device) -> None:
    stream = device.default_stream
    for wait in (True, False):
        if wait:
            stream.run(stream.synchronize)
        else:
            stream.enqueue(stream.synchronize)
        with pytest.raises(RuntimeError, match="its own stream"):
            stream.synchronize()


def test_many_threads_share_streams(device: Device) -> None:
    streams, counts = [device.new_stream() for _ in range(3)], [0, 0, 0]

    def add(i: int) -> None:
        counts[i] += 1  # a stream's tasks never run at the same time, so this needs no lock

    def work() -> None:
        for k in range(300):
            i = k % 3
            if k % 5:
                streams[i].enqueue(lambda i=i: add(i))
            else:
                streams[i].run(lambda i=i: add(i))
            if k % 7 == 0:
                streams[i].wait_stream(streams[(i + 1) % 3])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    device.synchronize()
    assert counts == [400, 400, 400]


def test_streams_come_from_a_pool(device: Device) -> None:
    streams = {device.new_stream() for _ in range(100)}
    assert len(streams) == 32
    assert device.default_stream not in streams
