"""`torch.mlirdev` has what users of `torch.cuda` and PyTorch itself look for, and means the same. Nodes run on the
host here (compile=reference): what is tested is the device module, not the compiler."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator

import pytest
import torch

import mlirdev
from mlirdev import backend, events
from mlirdev.errors import OutOfMemoryError

# Where mlirdev isn't installed and another test imported it before torch, nothing has attached it.
backend.attach()
M = torch.mlirdev  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _reference() -> Iterator[None]:
    with mlirdev.options.override(compile="reference"):
        yield
        M.synchronize()


@pytest.fixture
def flushes() -> Iterator[list[events.Flush]]:
    seen: list[events.Flush] = []
    end = events.subscribe(lambda event: seen.append(event) if isinstance(event, events.Flush) else None)
    yield seen
    end()


def ones(n: int = 4) -> torch.Tensor:
    return torch.ones(n).to("mlirdev")


NAMES = """
is_available device_count current_device set_device device device_of synchronize _is_in_bad_fork _lazy_init
is_initialized init manual_seed manual_seed_all seed seed_all initial_seed get_rng_state get_rng_state_all
set_rng_state set_rng_state_all get_amp_supported_dtype get_device_name get_device_properties get_device_capability
mem_get_info Stream Event stream current_stream default_stream set_stream exchange_device maybe_exchange_device
get_raw_stream is_bf16_supported memory_allocated max_memory_allocated memory_reserved max_memory_reserved
reset_peak_memory_stats reset_accumulated_memory_stats memory_stats memory_summary memory_snapshot empty_cache amp
random memory default_generators _utils
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_the_module_has(name: str) -> None:
    assert hasattr(M, name)
    assert name.startswith("_") or name in dir(M)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"torch\.mlirdev"):
        M.no_such_thing  # noqa: B018


def test_there_is_one_device() -> None:
    assert M.is_available()
    assert M.device_count() == 1
    assert M.current_device() == 0
    with M.device("mlirdev:0"), M.device(0), M.device_of(torch.ones(1)):
        M.set_device(torch.device("mlirdev"))
    for wrong in ("mlirdev:1", 1):
        with pytest.raises(RuntimeError, match="invalid device ordinal 1"):
            M.set_device(wrong)
    with pytest.raises(ValueError, match="Expected a mlirdev device"):
        M.set_device("cpu")
    assert M._utils._get_device_index("mlirdev:0", optional=True) == 0
    assert M._utils._get_device_index("cpu", allow_cpu=True) == -1


def test_torch_knows_the_module() -> None:
    assert torch.get_device_module("mlirdev") is M
    assert torch.device("mlirdev").type == "mlirdev"
    assert ones().is_mlirdev  # type: ignore[attr-defined]
    assert torch.ones(1).mlirdev().device.type == "mlirdev"  # type: ignore[attr-defined]


def test_properties() -> None:
    properties = M.get_device_properties()
    assert properties.total_memory == M.mem_get_info()[1] > 0
    assert properties.name == M.get_device_name()
    assert (properties.major, properties.minor) == M.get_device_capability()
    assert torch.bfloat16 in M.get_amp_supported_dtype()
    assert M.is_bf16_supported()


# --- streams and events ----------------------------------------------------------------------------


def test_streams_are_torchs_and_differ() -> None:
    a, b = M.Stream(), M.Stream()
    assert isinstance(a, torch.Stream)
    assert a != b
    assert a == M.Stream(stream_id=a.stream_id)
    assert M.current_stream() == M.default_stream()
    with pytest.raises(ValueError, match="no stream 10000"):
        M.Stream(stream_id=10000)


def test_the_current_stream_is_a_threads_own() -> None:
    stream, seen = M.Stream(), []
    with M.stream(stream):
        assert M.current_stream() == stream
        assert M.get_raw_stream(0) == stream.stream_id
        thread = threading.Thread(target=lambda: seen.append(M.current_stream()))
        thread.start()
        thread.join()
        with M.stream(None):
            assert M.current_stream() == stream
    assert seen == [M.default_stream()]
    assert M.current_stream() == M.default_stream()
    with stream:
        assert M.current_stream() == stream
    assert M.current_stream() == M.default_stream()
    M.set_stream(stream)
    assert M.current_stream() == stream
    M.set_stream(M.default_stream())


def test_values_cross_streams_with_a_wait(flushes: list[events.Flush]) -> None:
    stream = M.Stream()
    x = ones() * 3
    stream.wait_stream(M.current_stream())
    assert [f.cause for f in flushes] == ["event"]
    with M.stream(stream):
        y = x + 1
    M.current_stream().wait_stream(stream)
    assert (y * 2).tolist() == [8.0] * 4


def test_a_value_that_is_pending_on_another_stream_is_launched_there(flushes: list[events.Flush]) -> None:
    stream = M.Stream()
    x = ones() * 3
    with M.stream(stream):
        y = x + 1
    assert [f.cause for f in flushes] == ["cross_stream"]
    M.default_stream().synchronize()  # the order between streams is the user's to give, before y is launched
    with M.stream(stream):
        assert y.tolist() == [4.0] * 4


def test_an_event_launches_what_is_before_it(flushes: list[events.Flush]) -> None:
    x = ones() + 1
    event = M.Event()
    assert event.query()
    event.record()
    assert [f.cause for f in flushes] == ["event"]
    event.synchronize()
    assert event.query()
    assert x.tolist() == [2.0] * 4
    y = ones() + 5
    event.wait(M.Stream())
    assert event.query()
    assert len(flushes) == 1
    assert y.tolist() == [6.0] * 4


def test_elapsed_time_wants_timed_events() -> None:
    start, end = M.Event(enable_timing=True), M.Event(enable_timing=True)
    start.record()
    x = ones() + 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0
    assert x.device.type == "mlirdev"
    with pytest.raises(ValueError, match="enable_timing=True"):
        M.Event().elapsed_time(end)
    with pytest.raises(RuntimeError, match="must be recorded"):
        M.Event(enable_timing=True).elapsed_time(end)
    with pytest.raises(ValueError, match="between processes"):
        M.Event(interprocess=True)


@pytest.mark.parametrize(
    ("look", "cause"), [(lambda s: s.query(), "query"), (lambda s: s.synchronize(), "synchronize")]
)
def test_looking_at_a_stream_launches_what_is_recorded_for_it(look: object, cause: str, flushes: list) -> None:
    stream, x = M.Stream(), ones()
    M.synchronize()
    flushes.clear()
    with M.stream(stream):
        y = x * 2
    look(stream)  # type: ignore[operator]
    assert [f.cause for f in flushes] == [cause]
    stream.synchronize()
    assert y.tolist() == [2.0] * 4


def test_synchronize_launches_every_stream_and_is_counted(flushes: list[events.Flush]) -> None:
    x, stream, before = ones(), M.Stream(), mlirdev.metrics.snapshot()["syncs"].get("synchronize", 0)
    y = x + 1
    stream.wait_stream(M.current_stream())
    with M.stream(stream):
        z = y + 1
    w = y + 2
    flushes.clear()
    with mlirdev.no_sync():
        M.synchronize()
    assert {f.cause for f in flushes} == {"synchronize"}
    assert len(flushes) == 2
    assert mlirdev.metrics.snapshot()["syncs"]["synchronize"] == before + 1
    assert (z.tolist(), w.tolist()) == ([3.0] * 4, [4.0] * 4)


def test_record_stream_takes_our_streams() -> None:
    x, stream = ones() + 1, M.Stream()
    x.record_stream(stream)
    assert x.tolist() == [2.0] * 4


# --- memory --------------------------------------------------------------------------------------------


def test_memory_is_counted() -> None:
    M.synchronize()
    M.empty_cache()
    before = M.memory_allocated()
    x = torch.ones(1 << 18).to("mlirdev")
    assert M.memory_allocated() - before == 1 << 20
    assert M.memory_reserved() >= M.memory_allocated()
    M.reset_peak_memory_stats()
    del x
    assert M.memory_allocated() == before
    assert M.max_memory_allocated() == before + (1 << 20)
    free, total = M.mem_get_info()
    assert free == total - before
    assert M.memory_stats()["allocated_bytes.all.current"] == before
    assert any(s["total_size"] == 1 << 20 and not s["allocated_size"] for s in M.memory_snapshot())
    M.empty_cache()
    assert not any(s["total_size"] == 1 << 20 for s in M.memory_snapshot())
    assert "allocated_bytes" in M.memory_summary()
    M.reset_accumulated_memory_stats()
    assert M.memory_stats()["allocation.all.freed"] == 0


def test_running_out_of_memory_loses_nothing() -> None:
    x = ones()
    M.synchronize()
    M.set_per_process_memory_fraction(0.0)
    try:
        y = x + 1
        with pytest.raises(torch.OutOfMemoryError, match="out of memory") as info:
            y.tolist()
        assert isinstance(info.value, OutOfMemoryError)
    finally:
        M.set_per_process_memory_fraction(1.0)
    assert y.tolist() == [2.0] * 4
    with pytest.raises(ValueError, match="Invalid fraction"):
        M.set_per_process_memory_fraction(2.0)


# --- random numbers ---------------------------------------------------------------------------------


def test_seeds_and_states() -> None:
    torch.manual_seed(5)
    assert M.initial_seed() == 5
    state = M.get_rng_state()
    a = torch.rand(4, device="mlirdev")
    b = torch.rand(4, device="mlirdev")
    M.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="mlirdev").cpu(), a.cpu())
    assert not torch.equal(a.cpu(), b.cpu())
    M.manual_seed_all(5)
    assert torch.equal(torch.rand(4, device="mlirdev").cpu(), a.cpu())
    assert M.seed() == M.initial_seed() != 5
    assert len(M.get_rng_state_all()) == len(M.default_generators) == 1
    M.default_generators[0].manual_seed(7)
    assert M.default_generators[0].initial_seed() == 7
    with pytest.raises(RuntimeError, match="RNG state"):
        M.set_rng_state(torch.zeros(3))


def test_fork_rng_restores_the_state() -> None:
    torch.manual_seed(5)
    with torch.random.fork_rng(device_type="mlirdev"):
        torch.rand(4, device="mlirdev")
        M.manual_seed(9)
    assert M.initial_seed() == 5
    assert torch.equal(M.get_rng_state(), M.default_generators[0].get_state())


# --- pinned memory, copies -------------------------------------------------------------------------


def test_pinned_memory() -> None:
    x = torch.arange(4.0)
    assert not x.is_pinned()
    pinned = x.pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert not x.is_pinned()
    assert pinned.pin_memory() is pinned
    assert pinned.to("mlirdev", non_blocking=True).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_pinning_of_a_data_loader() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    batches = [batch for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)]
    assert all(batch.is_pinned() for batch in batches)
    assert [b.to("mlirdev", non_blocking=True).sum().item() for b in batches] == [6.0, 22.0]


def test_a_copy_from_pageable_memory_has_read_it_on_return() -> None:
    x = torch.ones(4)
    y = x.to("mlirdev", non_blocking=True)
    x.fill_(7)
    assert y.tolist() == [1.0] * 4


def test_a_copy_to_the_host_that_does_not_wait() -> None:
    x = ones() * 3
    with mlirdev.no_sync():
        a = x.to("cpu", non_blocking=True)
        b = torch.empty(4).pin_memory()
        b.copy_(x, non_blocking=True)
        M.synchronize()
    assert a.is_pinned()
    assert a.tolist() == b.tolist() == [3.0] * 4


# --- torch.accelerator --------------------------------------------------------------------------------


def test_torch_accelerator() -> None:
    accelerator = torch.accelerator
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == torch.device("mlirdev")
    assert accelerator.device_count() == 1
    x = ones() + 1
    accelerator.synchronize()
    assert accelerator.current_stream() == M.current_stream()
    stream = M.Stream()
    accelerator.set_stream(stream)
    assert M.current_stream() == stream
    accelerator.set_stream(M.default_stream())
    assert accelerator.memory_allocated() == M.memory_allocated() > 0
    assert accelerator.memory.get_memory_info() == M.mem_get_info()
    assert accelerator.memory_stats()["allocation.all.current"] > 0
    accelerator.reset_peak_memory_stats()
    accelerator.memory.empty_cache()
    assert torch.float32 in accelerator.get_device_capability()["supported_dtypes"]
    assert x.tolist() == [2.0] * 4


def test_amp_names_the_device() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = M.amp.GradScaler()
    assert scaler.scale(ones()).tolist() == [65536.0] * 4
    with M.amp.autocast():
        assert torch.is_autocast_enabled("mlirdev")
        assert torch.get_autocast_dtype("mlirdev") is torch.float16
