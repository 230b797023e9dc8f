"""The examples, as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_resnet_trains_as_on_the_cpu() -> None:
    sizes = ["--steps", "2", "--batch", "3", "--size", "33", "--width", "4"]
    # Compiling a ResNet is tests/models' business.
    environment = {**os.environ, "MLIRDEV_COMPILE": "reference"}
    command = [sys.executable, str(ROOT / "examples" / "resnet.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "the losses agree" in done.stdout
