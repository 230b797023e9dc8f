"""The committed bundle belongs to the sources beside it, and their types to the Python ones."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from mlirdev.explore.page import json_schema
from mlirdev.explore.report import ASSETS

FRONTEND = Path(__file__).parents[2] / "frontend"


def fingerprint() -> str:
    """What frontend/build.mjs computes."""
    sources = [path.relative_to(FRONTEND).as_posix() for path in (FRONTEND / "src").rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted([*sources, "build.mjs", "package-lock.json"]):
        digest.update(f"{name}\n".encode() + (FRONTEND / name).read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", ["explorer.js", "explorer.css"])
def test_the_bundle_was_built_from_these_sources(name: str) -> None:
    found = re.search(r"sources sha256:(\w+)", (ASSETS / name).read_text()[:300])
    assert found, f"{name} has no banner"
    assert found[1] == fingerprint(), "the sources have changed: cd frontend && npm ci && npm run build"


def test_the_page_knows_the_types_of_its_data() -> None:
    written = json.loads((FRONTEND / "schema.json").read_text())
    remedy = "python -m mlirdev.explore.page > frontend/schema.json && cd frontend && npm run types"
    assert written == json_schema(), f"types have changed: {remedy}"


def test_everything_in_the_bundle_comes_with_its_licence() -> None:
    licences = (ASSETS / "LICENSES.txt").read_text()
    wanted = json.loads((FRONTEND / "package.json").read_text())["dependencies"]
    assert "Permission is hereby granted" in licences
    assert "preact" in licences
    assert len(re.findall(r"^\S+ [\d.]+ \(.*\)$", licences, re.MULTILINE)) <= 3 * len(wanted)


def test_the_bundle_asks_for_nothing() -> None:
    script = (ASSETS / "explorer.js").read_text()
    assert "</script" not in script.lower()
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|importScripts|WebSocket)\(", script)
