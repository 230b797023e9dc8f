"""The device's random generator: a seed and an offset, as CUDA's (decision 8).

A random op takes its part of the stream when it is recorded, so the numbers don't depend on when it runs;
seed and offset are inputs of the graph, so they don't depend on the graph either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import torch

# What PyTorch seeds its generators with.
DEFAULT_SEED = 67280421310721
_MASK = (1 << 64) - 1


class Source(Protocol):
    """What random ops draw from."""

    def take(self, blocks: int) -> tuple[int, int]: ...


class Generator:
    """Counter-based: draw number k of seed s is Philox(counter=k, key=s). Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seed = DEFAULT_SEED
        self.offset = 0

    def manual_seed(self, seed: int) -> None:
        with self._lock:
            self.seed, self.offset = seed & _MASK, 0

    def take(self, blocks: int) -> tuple[int, int]:
        """Seed and offset for the next `blocks` blocks of four words, as signed 64-bit numbers."""
        with self._lock:
            offset = self.offset
            self.offset = (offset + blocks) & _MASK
            return signed(self.seed), signed(offset)

    def get_state(self) -> torch.Tensor:
        """16 bytes: the seed, then the offset; little-endian, as CUDA's."""
        with self._lock:
            data = self.seed.to_bytes(8, "little") + self.offset.to_bytes(8, "little")
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        """Go back to a state of `get_state`. Raises RuntimeError for anything else."""
        if state.dtype is not torch.uint8 or state.numel() != 16 or state.device.type != "cpu":
            raise RuntimeError("RNG state must be a CPU torch.ByteTensor of 16 bytes, as get_rng_state() returns it")
        data = bytes(state.tolist())
        with self._lock:
            self.seed, self.offset = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")


def signed(value: int) -> int:
    """The same 64 bits as a signed number."""
    return value - (1 << 64) if value >> 63 else value


default_generator = Generator()


def itself(generator: Generator) -> Source:
    return generator


# What to draw from in place of a generator: another source while somebody records privately. Set by private.py, which
# isn't loaded before it is needed.
drawing: Callable[[Generator], Source] = itself
