"""Every launch is told, with its time, while somebody listens."""

from __future__ import annotations

import pytest

from mlirdev.dtypes import DType
from mlirdev.plan import HostLaunch, Launch, Plan, Slot
from mlirdev.runtime import Device, PlanRunner
from mlirdev.runtime.timeline import LaunchRan, subscribe
from tests.runtime.harness import RUNALL, STAMP, Kernels


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("stamp", [0, STAMP], ids=["no clock", "clock"])  # an address can't be an id
def test_launches_are_told_in_order(device: Device, kernels: Kernels, wait: bool, stamp: int) -> None:
    kernels.add("a", lambda argv: None)
    kernels.add("b", lambda argv: None)
    slot = Slot((1,), DType.f32)
    launches = (Launch("a", (), (0,)), Launch("b", (), (1,)), HostLaunch(0, (0,), (2,)), Launch("a", (), (3,)))
    plan = Plan((slot,) * 4, (), (0, 1, 2, 3), launches)
    runner = PlanRunner(plan, kernels.signatures, kernels.addresses, RUNALL, lambda *_: None, stamp)
    seen: list[LaunchRan] = []
    end = subscribe(seen.append)
    stream = device.new_stream()
    for _ in range(2):
        runner.launch(stream, [], [], (), 1, lambda *_: ValueError(), wait)
    stream.synchronize()
    end()
    runner.launch(stream, [], [], (), 1, lambda *_: ValueError(), wait)
    stream.synchronize()
    assert [ran.launch for ran in seen] == list(launches) * 2
    assert {ran.stream for ran in seen} == {stream.number}
    times = [t for ran in seen for t in (ran.begin, ran.end)]
    assert times == sorted(times)


@pytest.mark.parametrize("wait", [True, False])
def test_a_listener_that_raises_fails_the_plan_and_not_the_stream(device: Device, kernels: Kernels, wait: bool) -> None:
    kernels.add("a", lambda argv: None)
    plan = Plan((Slot((1,), DType.f32),), (), (0,), (Launch("a", (), (0,)),))
    runner = PlanRunner(plan, kernels.signatures, kernels.addresses, RUNALL, lambda *_: None)

    def listen(ran: LaunchRan) -> None:
        raise ValueError("deaf")

    end = subscribe(listen)
    (y,) = runner.launch(device.default_stream, [], [], (), 1, lambda *_: ValueError(), wait)
    with pytest.raises(ValueError, match="deaf"):
        device.synchronize()
    end()
    with pytest.raises(ValueError, match="deaf"):
        y.check()
    device.default_stream.run(lambda: None)
