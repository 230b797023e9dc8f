"""A Buffer: a piece of device memory that belongs to the stream that allocated it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirdev.runtime.allocator import Block
    from mlirdev.runtime.stream import Stream


class Fate:
    """What became of a buffer's contents. Work in flight holds this rather than the buffer, so that memory
    whose last owner is gone can be reused at once, in stream order."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BaseException | None = None


class Buffer:
    """`nbytes` of memory at `address`, given back to the allocator when the object dies.

    Its contents are defined once the work that writes it has run on `stream`. If that work failed, the
    buffer is poisoned: `poison` is the error, and `check()` raises it, each time.
    """

    __slots__ = ("__weakref__", "_block", "address", "fate", "nbytes", "stream")

    def __init__(self, block: Block, nbytes: int, stream: Stream) -> None:
        self._block = block
        self.address = block.address
        self.nbytes = nbytes
        self.stream = stream
        self.fate = Fate()

    @property
    def poison(self) -> BaseException | None:
        return self.fate.error

    def check(self) -> None:
        """Raise the error of the work that should have written this buffer, if it failed."""
        if self.fate.error is not None:
            self.stream.device.failures.raise_error(self.fate.error)

    def record_stream(self, stream: Stream) -> None:
        """Don't reuse the memory before the work launched on `stream` until the buffer's death is done."""
        self._block.used_on.add(stream)

    def __del__(self) -> None:
        # May run in the garbage collector, on any thread, inside any lock: only hand the block over.
        self.stream.device.allocator.give_back(self._block)

    def __repr__(self) -> str:
        state = f", poisoned by {self.fate.error!r}" if self.fate.error else ""
        return f"Buffer(0x{self.address:x}, {self.nbytes} bytes, stream {self.stream.number}{state})"
