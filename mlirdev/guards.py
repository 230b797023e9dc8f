"""What may be forbidden: implicit waits for the device, and ops that run on the CPU.

A layer asks *before* it waits or falls back, so that nothing has happened when the answer is an error:

    check_sync("item", where)                     # then wait, then emit events.Sync(cause="item", seconds=…)
    check_fallback("aten.nonzero.default", reason, where, cause)  # then emit events.Fallback(op=…, …), then run it

A guard covers every thread: autograd runs a device's backward on a thread of its own.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from mlirdev.errors import ForbiddenError
from mlirdev.events import SourceLine
from mlirdev.options import options

# Waits that the program asked for in so many words; no guard or option concerns them.
EXPLICIT_SYNCS = frozenset({"synchronize", "event", "stream", "exit", "memory", "mode"})

SYNC_REMEDIES = {
    "item": "keep the value on the device (`loss.detach()`), or read it every N steps",
    "bool": "use torch.where, or decide on a value that the CPU already has",
    "print": "print every N steps, or print the shape alone",
    "copy": "copy with non_blocking=True into pinned memory, and synchronize where the value is needed",
    "data_dependent": "use a mask of fixed size (torch.where) in place of what selects by value",
}
FALLBACK_REMEDIES = {
    "data_dependent": SYNC_REMEDIES["data_dependent"],
    "no_rule": "give it a fake kernel (`torch.library.register_fake`), or write it in other ops",
    "no_lowering": "give it a lowering with `mlirdev.register_lowering`, or write it in other ops",
    "overlap": "clone() what it reads, or what was expanded, before",
}

_lock = threading.Lock()
_forbidden = {"sync": 0, "fallback": 0}
_warned: set[tuple[str, str, SourceLine | None]] = set()


def no_sync() -> contextlib.AbstractContextManager[None]:
    """Inside, an implicit wait for the device (`.item()`, `print`, `if tensor`, a blocking copy) raises ForbiddenError.

    `torch.mlirdev.synchronize()` and waits for events stay allowed.
    """
    return _forbid("sync")


def no_fallback() -> contextlib.AbstractContextManager[None]:
    """Inside, an op that would run on the CPU raises ForbiddenError."""
    return _forbid("fallback")


def check_sync(cause: str, where: SourceLine | None = None) -> None:
    """Warn or raise if an implicit wait is frowned upon; to be called before it."""
    if cause in EXPLICIT_SYNCS or (options.sync == "allow" and not _forbidden["sync"]):
        return
    remedy = SYNC_REMEDIES.get(cause, "move it out of the loop")
    message = f"implicit wait for the device ({cause}){_at(where)}; {remedy}"
    _refuse_or_warn("sync", options.sync, ("sync", cause, where), message)


def check_fallback(op: str, reason: str, where: SourceLine | None = None, cause: str = "no_lowering") -> None:
    """Warn once per op, or raise if a fallback to the CPU is forbidden; to be called before it.

    `cause` is that of events.Fallback.
    """
    if options.fallback == "allow" and not _forbidden["fallback"]:
        return
    message = f"{op} runs on the CPU{_at(where)}: {reason}; {FALLBACK_REMEDIES[cause]}"
    _refuse_or_warn("fallback", options.fallback, ("fallback", op, None), message)


@contextlib.contextmanager
def _forbid(what: str) -> Iterator[None]:
    with _lock:
        _forbidden[what] += 1
    try:
        yield
    finally:
        with _lock:
            _forbidden[what] -= 1


def _refuse_or_warn(what: str, choice: str, once: tuple[str, str, SourceLine | None], message: str) -> None:
    if _forbidden[what]:
        raise ForbiddenError(f"{message} (forbidden by mlirdev.no_{what}())")
    if choice == "error":
        raise ForbiddenError(f"{message} (forbidden by the option {what}=error)")
    if once not in _warned:
        _warned.add(once)
        warnings.warn(message, stacklevel=4)


def _at(where: SourceLine | None) -> str:
    return f" at {where}" if where else ""
