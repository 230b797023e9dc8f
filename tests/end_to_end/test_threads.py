"""Programs on one thread and on several: the same bits, also with sizes that change and with several streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import mlirdev

DEVICE = "mlirdev"


@pytest.fixture(autouse=True)
def threads_restored() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def step(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Elementwise, rows, a product, columns, and all of it."""
    hidden = torch.relu(torch.softmax(x, 1) @ w)
    centred = hidden - hidden.mean(0)
    return centred, centred.std(0), (centred * x.sum()).square().mean()


def data(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(rows)
    return torch.rand(rows, 256), torch.randn(256, 320)


def test_sizes_that_change_on_any_number_of_threads() -> None:
    for rows in (700, 500, 301, 2):
        x, w = data(rows)
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append([t.cpu() for t in step(x.to(DEVICE), w.to(DEVICE))])
        torch.testing.assert_close(results[0], list(step(x, w)), rtol=1e-3, atol=1e-4)
        for more in results[1:]:
            assert all(map(torch.equal, more, results[0])), rows


def test_streams_that_share_the_threads() -> None:
    torch.set_num_threads(3)
    x, w = data(700)
    wanted = [t.cpu() for t in step(x.to(DEVICE), w.to(DEVICE))]
    streams = [torch.mlirdev.Stream() for _ in range(3)]
    on_device = x.to(DEVICE), w.to(DEVICE)
    torch.mlirdev.synchronize()
    results = []
    for _ in range(5):
        for stream in streams:
            with torch.mlirdev.stream(stream):
                results.append(step(*on_device))
                mlirdev.sync()
    torch.mlirdev.synchronize()
    for result in results:
        assert all(torch.equal(r.cpu(), want) for r, want in zip(result, wanted, strict=True))


def test_the_count_may_change_while_launches_are_pending() -> None:
    x, w = data(700)
    results = []
    for threads in (1, 3, 2, 1, 2):
        torch.set_num_threads(threads)
        results.append(step(x.to(DEVICE), w.to(DEVICE)))
        mlirdev.sync()
    wanted = [t.cpu() for t in results[0]]
    for result in results[1:]:
        assert all(torch.equal(r.cpu(), want) for r, want in zip(result, wanted, strict=True))
