"""What the tests of the spec rules need around them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.testing._internal.opinfo import core


@pytest.fixture(autouse=True)
def _cpu_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """OpInfo saves the accelerator's random state around each call, which makes the device for nothing.

    One thread: thousands of tiny kernels only wait for each other.
    """
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    # For every iteration over samples it reads the source of each frame of the stack, to name the test that runs.
    monkeypatch.setattr(core, "extract_test_fn", lambda: None)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
