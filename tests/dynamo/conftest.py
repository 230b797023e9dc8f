"""What PyTorch's compiler makes of programs, run with the reference executor: every node through PyTorch's CPU ops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from mlirdev.options import options


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    with options.override(compile="reference"):
        yield
