"""Random programs on the device beside the CPU (programs/): the fast ones run through the reference executor, the slow
ones compiled too. `scripts/fuzz` runs any number, and shrinks one that differs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlirdev
from mlirdev.options import options
from tests.lazy.programs import views
from tests.lazy.programs.beside import Beside, DifferenceError, replay, run_random, tensors
from tests.lazy.programs.draw import Draw
from tests.lazy.programs.shrink import shrink

STEPS = 30


@pytest.fixture
def compiled(reference) -> Iterator[None]:
    with options.override(compile="workers"):
        yield
        mlirdev.sync()


@pytest.mark.parametrize("seed", range(20))
def test_lazy(seed):
    run_random(seed, STEPS)


@pytest.mark.parametrize("mode", ["eager", "blocking"])
@pytest.mark.parametrize("seed", range(3))
def test_other_modes(mode, seed):
    with options.override(mode=mode):
        run_random(1000 + seed, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 2200, 20))
def test_more(start):
    for seed in range(start, start + 20):
        run_random(seed, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["lazy", "eager", "blocking"])
def test_compiled(compiled, mode):
    with options.override(mode=mode):
        for seed in range(3000, 3004):
            run_random(seed, 20)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 30), length=st.integers(1, 8), dtype=st.sampled_from(["float32", "int32", "bool"]))
def test_a_chain_of_views_reads_and_writes_what_the_cpus_does(seed, length, dtype):
    program = Beside()
    draw = Draw(seed, program.cpu)
    program.run(f"{draw.fresh()} = make({draw.choice(((4, 6), (2, 3, 4), (2, 3, 2, 2), (5,)))}, torch.{dtype}, 1)")
    for _ in range(length):
        name, tensor = [*tensors(program.cpu)][-1]
        text = draw.choice(views.VIEWS)(draw, name, tensor)
        if text is not None:
            program.run(f"{draw.fresh()} = {text}")
    name = [*tensors(program.cpu)][-1][0]
    program.run(f"seen = {name}.to('cpu', copy=True)")
    program.run(f"{name}.fill_(1)")
    program.finish()


def test_a_failing_program_is_shrunk(monkeypatch):
    lines = ["a = make((3,), torch.float32, 1)", "b = a + 1", "a.wrong_ = 1", "seen = device", "c = b * 2"]
    with pytest.raises(DifferenceError) as found:
        replay(lines)
    assert shrink(found.value.lines, found.value.kind) == ["seen = device"]


def test_exceptions_are_compared_by_type():
    replay(["a = make((3,), torch.float32, 1)", "a.view(2)", "a[5]", "a.sum(3)", "torch.nothing"])
    assert torch.is_grad_enabled()
