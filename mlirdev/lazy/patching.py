"""How a function of PyTorch's is replaced by one of ours that may call it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def replaces(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace a function by the decorated one, which takes the original before its arguments."""
    original = getattr(owner, name)

    def replace(patch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def patched(*args: Any, **kwargs: Any) -> Any:
            return patch(original, *args, **kwargs)

        setattr(owner, name, patched)
        return patched

    return replace
