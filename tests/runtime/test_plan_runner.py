"""Plans of Python kernels: order, scalars, dims, host launches, memory, errors. Each launch is tried both ways:
on the waiting thread, and through the stream's worker."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from mlirdev import metrics
from mlirdev.dtypes import DType
from mlirdev.errors import OutOfMemoryError
from mlirdev.graph import Sym
from mlirdev.plan import DimArg, DimExpr, HostLaunch, Launch, Plan, ScalarArg, Slot, SlotArg
from mlirdev.runtime import Buffer, Device, PlanRunner, Stream
from tests.runtime.harness import RUNALL, STAMP, Argv, Kernels, get, put, view

N = 4
PATIENCE = 60
Word = tuple[int, int, int, int]
pytestmark = pytest.mark.parametrize("wait", [True, False], ids=["waited", "enqueued"])


def vector(length: int | Sym = N) -> Slot:
    return Slot((length,), DType.f32)


def add_scalar(argv: Argv) -> None:
    argv.floats(2, N)[:] = argv.floats(0, N) + argv.scalar(1)


def no_host(*_: object) -> None:
    raise AssertionError("no host launch in this plan")


def describe(launch: Launch, word: Word) -> Exception:
    return IndexError(f"{launch.kernel} {launch.nodes} {word}")


def runner(plan: Plan, kernels: Kernels, host: object = no_host) -> PlanRunner:
    return PlanRunner(plan, kernels.signatures, kernels.addresses, RUNALL, host, STAMP)  # type: ignore[arg-type]


def chain(count: int) -> Plan:
    """in + s, `count` times over."""
    launches = tuple(Launch("add", (SlotArg(i), ScalarArg(0)), (i + 1,), (i,)) for i in range(count))
    return Plan((vector(),) * (count + 1), (0,), (count,), launches, scalars=("float",))


def launch(
    plans: PlanRunner,
    stream: Stream,
    inputs: list[Buffer],
    wait: bool,
    scalars: Sequence[float] = (2.0,),
    syms: tuple[int, ...] = (),
) -> list[Buffer]:
    return plans.launch(stream, inputs, scalars, syms, 3, describe, wait)


def test_seed(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    stream = device.default_stream
    (y,) = launch(runner(chain(1), kernels), stream, [put(stream, [1, 2, 3, 4])], wait)
    assert get(y) == [3, 4, 5, 6]


def test_many_kernels_many_launches(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    plans, stream = runner(chain(20), kernels), device.default_stream
    x = put(stream, [0] * N)
    for step in range(30):
        (x,) = launch(plans, stream, [x], wait, [float(step)])
    assert get(x) == [20 * sum(range(30))] * N


def test_scalars_dims_and_threads_arrive(device: Device, kernels: Kernels, wait: bool) -> None:
    seen: list[object] = []

    def look(argv: Argv) -> None:
        seen.extend([argv.threads, argv.scalar(0), argv.scalar(1, np.int64), argv.scalar(2, np.int64)])
        seen.extend([argv.scalar(3, np.int64), argv.scalar(4, np.int64)])

    kernels.add("look", look)
    args = (ScalarArg(0), ScalarArg(1), ScalarArg(2), DimArg(Sym(1)), DimArg(DimExpr("mul", (Sym(0), 10))))
    plan = Plan((vector(),), (), (0,), (Launch("look", args, (0,)),), scalars=("float", "int", "bool"), syms=2)
    launch(runner(plan, kernels), device.default_stream, [], wait, [0.5, -(2**63), True], (6, 7))
    device.synchronize()
    assert seen == [3, 0.5, -(2**63), 1, 7, 60]


def test_sizes_are_bound_per_syms(device: Device, kernels: Kernels, wait: bool) -> None:
    def fill(argv: Argv) -> None:
        n = int(argv.scalar(0, np.int64))
        argv.floats(1, n)[:] = n

    kernels.add("fill", fill)
    plan = Plan((vector(Sym(0)),), (), (0,), (Launch("fill", (DimArg(Sym(0)),), (0,)),), syms=1)
    plans = runner(plan, kernels)
    for n in (3, 5, 3, 1):
        (y,) = launch(plans, device.default_stream, [], wait, (), (n,))
        assert get(y) == [n] * n


def test_host_launches_take_their_turn(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)

    def double(node: int, operands: list, results: list, scalars: list, syms: tuple) -> None:
        assert (node, scalars, syms) == (7, [2.0], ())
        view(results[0][0], N, np.float32)[:] = 2 * view(operands[0][0], N, np.float32)

    add = [Launch("add", (SlotArg(i), ScalarArg(0)), (i + 1,)) for i in (0, 2)]
    plan = Plan((vector(),) * 4, (0,), (3, 1), (add[0], HostLaunch(7, (1,), (2,)), add[1]), scalars=("float",))
    stream = device.default_stream
    y, middle = launch(runner(plan, kernels, double), stream, [put(stream, [1, 2, 3, 4])], wait, [2.0])
    assert get(y) == [8, 10, 12, 14]
    assert get(middle) == [3, 4, 5, 6]


def test_outputs_may_be_inputs_and_one_another(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    plan = Plan(
        (vector(),) * 2, (0,), (0, 1, 1), (Launch("add", (SlotArg(0), ScalarArg(0)), (1,)),), scalars=("float",)
    )
    x = put(device.default_stream, [1, 2, 3, 4])
    a, b, c = launch(runner(plan, kernels), device.default_stream, [x], wait)
    assert a is x
    assert b is c
    assert get(b) == [3, 4, 5, 6]


def test_an_error_word_poisons_the_outputs(device: Device, kernels: Kernels, wait: bool) -> None:
    def bad(argv: Argv) -> None:
        argv.error[:] = (1, 5, 99, 10)

    kernels.add("add", add_scalar)
    kernels.add("bad", bad)
    launches = (
        Launch("add", (SlotArg(0), ScalarArg(0)), (1,), (0,)),
        Launch("bad", (SlotArg(1),), (2,), (1,)),
        Launch("add", (SlotArg(2), ScalarArg(0)), (3,), (2,)),
    )
    plan = Plan((vector(),) * 4, (0,), (3,), launches, scalars=("float",))
    stream, plans = device.default_stream, runner(plan, kernels)
    (y,) = launch(plans, stream, [put(stream, [0] * N)], wait)
    event = stream.record_event()
    (z,) = launch(plans, stream, [y], wait)
    with pytest.raises(IndexError, match=r"bad \(1,\) \(1, 5, 99, 10\)") as first:
        event.synchronize()
    stream.synchronize()
    for _ in range(2):
        with pytest.raises(IndexError) as again:
            z.check()
        assert again.value is first.value
    assert y.poison is z.poison is first.value


def test_of_several_failures_the_program_s_first_is_told(device: Device, kernels: Kernels, wait: bool) -> None:
    def bad(argv: Argv) -> None:
        argv.error[:] = (1, 0, 99, 10)

    kernels.add("bad", bad)
    launches = (Launch("bad", (SlotArg(0),), (1,), (7,)), Launch("bad", (SlotArg(0),), (2,), (3,)))
    plan, stream = Plan((vector(),) * 3, (0,), (1, 2), launches), device.default_stream
    y, _ = launch(runner(plan, kernels), stream, [put(stream, [0] * N)], wait, scalars=())
    with pytest.raises(IndexError, match=r"bad \(3,\)"):
        y.check() if wait else stream.synchronize()


def test_reading_a_poisoned_buffer_counts_as_seeing_the_failure(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("bad", lambda argv: argv.error.__setitem__(0, 1))
    plan = Plan((vector(),), (), (0,), (Launch("bad", (), (0,)),))
    (y,) = launch(runner(plan, kernels), device.default_stream, [], wait, ())
    device.drain()
    with pytest.raises(IndexError):
        y.check()
    device.synchronize()


def test_a_failed_host_launch_stops_the_plan(device: Device, kernels: Kernels, wait: bool) -> None:
    ran: list[int] = []

    def fail(node: int, *_: object) -> None:
        ran.append(node)
        raise ZeroDivisionError(f"node {node}")

    plan = Plan((vector(),) * 2, (), (1,), (HostLaunch(0, (), (0,)), HostLaunch(1, (0,), (1,))))
    (y,) = launch(runner(plan, kernels, fail), device.default_stream, [], wait, ())
    with pytest.raises(ZeroDivisionError, match="node 0"):
        device.synchronize()
    assert ran == [0]
    with pytest.raises(ZeroDivisionError):
        y.check()


def test_poison_crosses_streams(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    kernels.add("bad", lambda argv: argv.error.__setitem__(0, 1))
    a, b = device.new_stream(), device.new_stream()
    bad = runner(Plan((vector(),), (), (0,), (Launch("bad", (), (0,)),)), kernels)
    (x,) = launch(bad, a, [], wait, ())
    b.wait_stream(a)
    (y,) = launch(runner(chain(2), kernels), b, [x], wait)
    b.synchronize()
    with pytest.raises(IndexError):
        y.check()
    device.synchronize()


def test_memory_of_other_streams_is_kept_until_the_plan_has_run(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    a, b, gate = device.new_stream(), device.new_stream(), threading.Event()
    x = put(a, [1, 2, 3, 4])
    if not wait:
        b.enqueue(lambda: gate.wait(PATIENCE) and None)
    (y,) = launch(runner(chain(1), kernels), b, [x], wait)
    address = x.address
    del x
    if not wait:
        assert device.allocator.allocate(4 * N, a).address != address
    gate.set()
    assert get(y) == [3, 4, 5, 6]


def test_running_out_of_memory_comes_before_anything_runs(device: Device, kernels: Kernels, wait: bool) -> None:
    ran: list[int] = []
    kernels.add("add", lambda argv: ran.append(1))
    big = Slot((1 << 20,), DType.f32)
    launches = tuple(Launch("add", (SlotArg(i), ScalarArg(0)), (i + 1,)) for i in range(3))
    plan = Plan((vector(), vector(), big, big), (0,), (1, 3), launches, scalars=("float",))
    x = put(device.default_stream, [1, 2, 3, 4])
    device.allocator.limit = 6 << 20
    with pytest.raises(OutOfMemoryError):
        launch(runner(plan, kernels), device.default_stream, [x], wait)
    assert ran == []
    assert device.allocator.memory_stats()["allocation.all.current"] == 1
    assert get(x) == [1, 2, 3, 4]


def test_a_tape_that_is_full_is_followed_by_another(
    device: Device, kernels: Kernels, wait: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlirdev.runtime.tape.CAPACITY", 16)
    kernels.add("add", add_scalar)
    plans, stream = runner(chain(5), kernels), device.default_stream
    longer = runner(chain(40), kernels)
    x = put(stream, [0] * N)
    for step in range(50):
        (x,) = launch(longer if step % 10 == 9 else plans, stream, [x], wait, [1.0])
    assert get(x) == [45 * 5 + 5 * 40] * N


def test_two_threads_launch_the_same_plan(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    plans, wrong = runner(chain(3), kernels), []

    def work(number: int) -> None:
        stream = device.new_stream()
        for _ in range(50):
            (y,) = launch(plans, stream, [put(stream, [number] * N)], wait, [float(number)])
            if get(y) != [4 * number] * N:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []


def test_the_time_of_kernels_is_counted(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    before, stream = metrics.snapshot(), device.default_stream
    start = stream.record_event()
    launch(runner(chain(5), kernels), stream, [put(stream, [0] * N)], wait)
    end = stream.record_event()
    stream.synchronize()
    after = metrics.snapshot()
    assert 0 < after["execute_s"] - before["execute_s"] < start.elapsed_time(end) / 1e3


def test_without_a_clock_a_plan_runs_too(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    stream = device.default_stream
    plans = PlanRunner(chain(3), kernels.signatures, kernels.addresses, RUNALL, no_host)
    (y,) = launch(plans, stream, [put(stream, [0] * N)], wait)
    assert get(y) == [6] * N


def updates() -> Plan:
    """Two vectors, each with a scalar added."""
    launches = tuple(Launch("add", (SlotArg(i), ScalarArg(0)), (2 + i,), (i,)) for i in range(2))
    return Plan((vector(),) * 4, (0, 1), (2, 3), launches, scalars=("float",))


def test_outputs_are_written_over_what_is_free(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("add", add_scalar)
    plans, stream = runner(updates(), kernels), device.default_stream
    x, y = put(stream, [1] * N), put(stream, [2] * N)
    assert plans.may_lend((), 3) == (0,)
    launched: list[list[int]] = []
    for _ in range(3):
        free = plans.may_lend((), 3)
        before = x.address
        note = lambda outputs: launched.append([b.address for b in outputs])  # noqa: E731
        x, y = plans.launch(stream, [x, y], [2.0], (), 3, describe, wait, free=free, launched=note)
        assert y.address == before
    assert (get(x), get(y)) == ([7] * N, [8] * N)
    assert len(launched) == 3
    assert launched[-1] == [x.address, y.address]
    assert device.allocator.memory_stats()["allocation.all.current"] == 2


def test_what_was_lent_comes_back_if_the_launch_fails(
    device: Device, kernels: Kernels, wait: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.add("add", add_scalar)
    plans, stream = runner(updates(), kernels), device.default_stream
    inputs = [put(stream, [1] * N), put(stream, [2] * N)]

    def no_threads(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(Stream, "start", no_threads)
        with pytest.raises(RuntimeError, match="can't start"):
            plans.launch(stream, inputs, [2.0], (), 3, describe, wait, free=(0,))
    assert [get(b) for b in inputs] == [[1] * N, [2] * N]
    assert inputs[0].may_be_handed_over(stream)
    outputs = plans.launch(stream, inputs, [2.0], (), 3, describe, wait, free=(0,))
    assert [get(b) for b in outputs] == [[3] * N, [4] * N]
    assert not inputs[0].may_be_handed_over(stream)


def test_a_failure_poisons_what_was_written_over(device: Device, kernels: Kernels, wait: bool) -> None:
    def fails(argv: Argv) -> None:
        argv.error[:] = 1, 2, 3, 4

    kernels.add("add", fails)
    stream = device.default_stream
    x, y = put(stream, [1] * N), put(stream, [2] * N)
    outputs = runner(updates(), kernels).launch(stream, [x, y], [2.0], (), 3, describe, wait, free=(0,))
    for output in outputs:
        with pytest.raises(IndexError):
            get(output)
    device.failures.drain()


def test_memory_of_or_used_on_another_stream_is_not_handed_over(device: Device, kernels: Kernels, wait: bool) -> None:
    stream, other = device.default_stream, device.new_stream()
    x = put(stream, [1] * N)
    assert x.may_be_handed_over(stream)
    assert not x.may_be_handed_over(other)
    x.record_stream(other)
    assert not x.may_be_handed_over(stream)
