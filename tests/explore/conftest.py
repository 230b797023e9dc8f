"""What the tests of records share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlirdev.explore import recording
from mlirdev.explore.peaks import Peaks


@pytest.fixture(autouse=True, scope="session")
def known_peaks() -> Iterator[None]:
    """Measuring takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "peaks", lambda processor, threads: Peaks(100.0, 10.0))
        yield
