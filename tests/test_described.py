"""Files of other packages, found by their entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlirdev import described
from mlirdev.target import load_target, target_names


def test_an_installed_package_brings_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, info = tmp_path / "my_chip", tmp_path / "my_chip-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("raise ImportError('a target is found without importing its package')")
    (package / "tiny.yaml").write_text("extends: host\nhelp: a tiny chip\nclock_mhz: 100\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_chip\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlirdev.targets]\ntiny = my_chip\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    described.installed.cache_clear()
    try:
        assert "tiny" in target_names()
        assert load_target("tiny").clock_mhz == 100
    finally:
        described.installed.cache_clear()
