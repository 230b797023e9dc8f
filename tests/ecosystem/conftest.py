"""Libraries of others, unchanged, with random weights: nothing is downloaded.

They come with the extra `ecosystem`, which scripts/test installs for a full run; where they aren't, these tests aren't
collected, and the report's head says so.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

import mlirdev
from mlirdev.options import options

os.environ["HF_HUB_OFFLINE"] = "1"

LIBRARIES = ("transformers", "accelerate", "lightning", "safetensors")
MISSING = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_report_header() -> list[str]:
    return [f"tests/ecosystem is left out: no {', '.join(MISSING)} (pip install -e .[ecosystem])"] if MISSING else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "ecosystem":
            # Theirs are for their developers; ours still count.
            item.add_marker(pytest.mark.filterwarnings("ignore"), append=False)
            item.add_marker(pytest.mark.filterwarnings("error::mlirdev.compiler.driver.CompileWarning"))


@pytest.fixture(autouse=True)
def counted() -> Iterator[None]:
    """Each test counts its own graphs, waits and fallbacks, and none falls back unless it says so."""
    mlirdev.metrics.reset()
    with options.override(fallback="error", quiet=True):
        yield
