"""A headless Chromium that opens a page from disk, and fails on errors in its console and on requests to a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; a test that needs it is skipped where there is none, but never in CI."""
    if not CHROMIUM and os.environ.get("CI") != "true":
        pytest.skip("no Chromium here; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, hash: str = "", **options: object) -> Iterator[Page]:
    """The file's page; at the end, that nothing went wrong in it."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if _is_local(asked.url) else troubles.append(f"asked for {asked.url}"))
    page.goto(f"{file.as_uri()}{hash}")
    yield page
    context.close()
    assert not troubles


def _is_local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))
