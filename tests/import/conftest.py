"""One MLIR context for the tests of a module."""

from __future__ import annotations

import pytest

from mlirdev import importer


@pytest.fixture(scope="module")
def context():
    return importer.new_context()
