"""Passes that fail in every way, named in pipelines as crashing_passes:function."""

from __future__ import annotations

import os
from typing import Any


def abort(module: Any, target: Any) -> None:
    """End the worker as LLVM does."""
    os.abort()


def fail(module: Any, target: Any) -> None:
    """Raise what a bug raises."""
    raise AttributeError("a bug in a pass")


def nothing(module: Any, target: Any) -> None:
    """Change nothing."""
