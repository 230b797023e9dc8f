"""Jobs for the pool's tests: workers import this module by name."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Square:
    number: int

    def run(self) -> int:
        return self.number**2


@dataclass(frozen=True)
class Fail:
    def run(self) -> None:
        raise ValueError("no")


@dataclass(frozen=True)
class Abort:
    def run(self) -> None:
        print("LLVM ERROR: as told", flush=True)
        os.abort()


@dataclass(frozen=True)
class Sleep:
    seconds: float

    def run(self) -> float:
        time.sleep(self.seconds)
        return self.seconds


@dataclass(frozen=True)
class Modules:
    """Which foreign libraries the worker has loaded."""

    def run(self) -> list[str]:
        import sys

        return [name for name in ("torch", "torch_mlir") if name in sys.modules]


@dataclass(frozen=True)
class Interrupt:
    """Ctrl-C reaches the worker too, and does nothing there."""

    def run(self) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return "alive"
