"""Recording is tested with the reference executor: every node runs through PyTorch on the CPU."""

import pytest
import torch

import mlirdev
from mlirdev.options import options

DEVICE = "mlirdev"


@pytest.fixture(autouse=True)
def reference():
    with options.override(compile="reference"):
        yield
        mlirdev.sync()


@pytest.fixture
def dev() -> torch.device:
    return torch.device(DEVICE)
