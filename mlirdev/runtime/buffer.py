"""A Buffer: a piece of device memory that belongs to the stream that allocated it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirdev.runtime.allocator import Block
    from mlirdev.runtime.stream import Stream
    from mlirdev.runtime.task import Task


class Fate:
    """What became of a buffer's contents. Work in flight holds this rather than the buffer, so that memory
    whose last owner is gone can be reused at once, in stream order.

    `writer` is the task that will write the buffer, as long as nobody has seen how it ended; `is_good` once it was
    seen to have ended well.
    """

    __slots__ = ("_error", "is_good", "stream", "writer")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.writer: Task | None = None
        self.is_good = True
        self._error: BaseException | None = None

    def expect(self, writer: Task) -> None:
        """The contents will be what `writer` makes of them."""
        self.is_good = False
        self.writer = writer

    @property
    def error(self) -> BaseException | None:
        """Why the contents aren't what they should be, as far as is known by now."""
        if self.writer is not None:
            self.stream.reap(self.writer)
        return self._error

    def settle(self, error: BaseException | None) -> None:
        self.writer = None
        self._error = error
        self.is_good = error is None


class Buffer:
    """`nbytes` of memory at `address`, given back to the allocator when the object dies.

    Its contents are defined once the work that writes it has run on `stream`. If that work failed, the
    buffer is poisoned: `poison` is the error, and `check()` raises it, each time. `varying` are the dims of
    its contents that are known to have other sizes in other runs.
    """

    __slots__ = ("__weakref__", "_block", "address", "fate", "nbytes", "stream", "varying")

    def __init__(self, block: Block, nbytes: int, stream: Stream) -> None:
        self._block: Block | None = block
        self.address = block.address
        self.nbytes = nbytes
        self.stream = stream
        self.fate = Fate(stream)
        self.varying: tuple[int, ...] = ()

    @property
    def poison(self) -> BaseException | None:
        return self.fate.error

    def check(self) -> None:
        """Raise the error of the work that should have written this buffer, if it failed."""
        error = self.fate.error
        if error is not None:
            self.stream.device.failures.raise_error(error)

    def record_stream(self, stream: Stream) -> None:
        """Don't reuse the memory before the work launched on `stream` until the buffer's death is done."""
        assert self._block is not None
        self._block.used_on.add(stream)

    def may_be_handed_over(self, stream: Stream) -> bool:
        """Is it of this stream, and used on no other?"""
        return self.stream is stream and self._block is not None and not self._block.used_on

    def hand_over(self) -> Buffer:
        """A new buffer in the memory of this one, which is dead from now on, unless it takes it back."""
        assert self._block is not None
        heir = Buffer(self._block, self.nbytes, self.stream)
        self._block = None
        return heir

    def take_back(self, heir: Buffer) -> None:
        """Undo `hand_over`."""
        self._block, heir._block = heir._block, None

    def __del__(self) -> None:
        # May run in the garbage collector, on any thread, inside any lock: only hand the block over.
        if self._block is not None:
            self.stream.device.allocator.give_back(self._block)

    def __repr__(self) -> str:
        state = f", poisoned by {self.poison!r}" if self.poison else ""
        return f"Buffer(0x{self.address:x}, {self.nbytes} bytes, stream {self.stream.number}{state})"
