"""The page's own tests, which want node and what `npm ci` installs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FRONTEND = Path(__file__).parents[2] / "frontend"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("npm") is None or not (FRONTEND / "node_modules").is_dir(), reason="wants: cd frontend && npm ci"
)
def test_what_needs_no_browser() -> None:
    done = subprocess.run(["npm", "test"], cwd=FRONTEND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
