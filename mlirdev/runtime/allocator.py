"""The device's memory: stream-ordered, cached, bounded.

    allocate_all(sizes, stream) ─► free block of this stream and size class, or fresh memory, or OutOfMemoryError
    a Buffer dies ─► give_back ─► (after what record_stream named) ─► the stream's free blocks

Stream-ordered: a block goes back to its stream the moment its buffer dies, though work in flight may still
use it, because whoever gets it next uses it behind that work on the same stream. Memory leaves for the
system only when that work is done (`empty_cache`, or a shortage).
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mlirdev.errors import OutOfMemoryError
from mlirdev.runtime import host_memory
from mlirdev.runtime.buffer import Buffer
from mlirdev.runtime.memory_stats import MemoryStats

if TYPE_CHECKING:
    from mlirdev.runtime.event import Mark
    from mlirdev.runtime.stream import Stream

# 8 classes per doubling: a block is at most an eighth larger than what was asked for.
_CLASS_BITS = 3


class Block:
    """Memory from the system, of one stream for life. `ticket` is the stream's last task when it was freed."""

    __slots__ = ("address", "requested", "size", "stream", "ticket", "used_on")

    def __init__(self, address: int, size: int, stream: Stream) -> None:
        self.address = address
        self.size = size
        self.stream = stream
        self.requested = 0
        self.ticket = 0
        self.used_on: set[Stream] = set()


class Allocator:
    """See the module's docstring. Safe to use from any thread; `limit` is in bytes, rounded sizes count."""

    def __init__(self, limit: int, lock: threading.RLock, shortage: type[OutOfMemoryError]) -> None:
        self.limit = limit
        self._shortage = shortage
        self.stats = MemoryStats()
        self._lock = lock
        self._free: defaultdict[tuple[Stream, int], list[Block]] = defaultdict(list)
        self._blocks: dict[Block, None] = {}  # all of them, oldest first
        self._given_back: deque[Block] = deque()
        self._awaited: list[tuple[Block, list[Mark]]] = []

    def allocate(self, nbytes: int, stream: Stream) -> Buffer:
        """`nbytes` of 64-byte aligned memory with unspecified contents. Raises OutOfMemoryError."""
        return self.allocate_all((nbytes,), stream)[0]

    def allocate_all(self, sizes: Sequence[int], stream: Stream) -> list[Buffer]:
        """A piece of memory of each size in bytes, in one go. Raises OutOfMemoryError if one isn't to be had."""
        stream.device.check()
        with self._lock:
            self._collect()
            buffers = self._take_all(sizes, stream)
        for nbytes in sizes[len(buffers) :]:
            buffers.append(self._allocate_after_trim(nbytes, stream))
        return buffers

    def give_back(self, block: Block) -> None:
        """Called by a dying Buffer, possibly inside the garbage collector: takes no lock."""
        self._given_back.append(block)

    def empty_cache(self) -> None:
        """Give all unused memory back to the system, once the work that may still use it is done."""
        with self._lock:
            self._collect()
            blocks = [block for blocks in self._free.values() for block in blocks]
            self._free.clear()
        kept = [block for block in blocks if not self._settle(block.stream, block.ticket)]
        with self._lock:
            for block in kept:
                self._free[block.stream, block.size].append(block)
        self._release(set(blocks).difference(kept))

    def memory_stats(self) -> dict[str, int]:
        """Counts under the names of `torch.cuda.memory_stats`."""
        with self._lock:
            self._collect()
            return self.stats.as_dict()

    def allocated(self) -> int:
        """Bytes in use."""
        with self._lock:
            self._collect()
            return self.stats.all.allocated_bytes.current

    def memory_info(self) -> tuple[int, int]:
        """Bytes that could still be allocated, and the limit."""
        with self._lock:
            self._collect()
            return self.limit - self.stats.all.allocated_bytes.current, self.limit

    def reset_peak(self) -> None:
        with self._lock:
            self._collect()
            self.stats.reset_peak()

    def reset_accumulated(self) -> None:
        with self._lock:
            self._collect()
            self.stats.reset_accumulated()

    def segments(self) -> list[dict[str, int]]:
        """Every block from the system: address, total_size, allocated_size (0 when free), stream."""
        with self._lock:
            self._collect()
            free = {block for blocks in self._free.values() for block in blocks}
            free.update(block for block, _ in self._awaited)
            return [
                {
                    "address": block.address,
                    "total_size": block.size,
                    "allocated_size": 0 if block in free else block.size,
                    "stream": block.stream.number,
                }
                for block in self._blocks
            ]

    # --- where memory comes from ---------------------------------------------------------------------

    def _size(self, nbytes: int) -> int:
        """The size of the block for a request of `nbytes`."""
        return size_class(nbytes)

    def _reserve(self, size: int) -> int:
        """The address of fresh memory, 0 if there is none."""
        return host_memory.reserve(size)

    def _give_up(self, address: int) -> None:
        """Give memory of `_reserve` back to the system."""
        host_memory.release(address)

    # --- with the lock held ------------------------------------------------------------------------

    def _take_all(self, sizes: Sequence[int], stream: Stream) -> list[Buffer]:
        """Memory for the sizes, up to the first that is short of it."""
        buffers: list[Buffer] = []
        taken: list[tuple[int, int]] = []
        for nbytes in sizes:
            block = self._take(self._size(nbytes), stream)
            if block is None:
                break
            block.requested = nbytes
            taken.append((nbytes, block.size))
            buffers.append(Buffer(block, nbytes, stream))
        self.stats.allocated(taken)
        return buffers

    def _take(self, size: int, stream: Stream) -> Block | None:
        free = self._free.get((stream, size))
        return free.pop() if free else self._fresh(size, stream)

    def _fresh(self, size: int, stream: Stream) -> Block | None:
        if self.stats.all.reserved_bytes.current + size > self.limit:
            return None
        address = self._reserve(size)
        if not address:
            return None
        self.stats.reserved(size)
        block = Block(address, size, stream)
        self._blocks[block] = None
        return block

    def _collect(self) -> None:
        """Move blocks that were given back to the free ones."""
        freed: list[tuple[int, int]] = []
        while self._given_back:
            block = self._given_back.popleft()
            freed.append((block.requested, block.size))
            if block.used_on:
                marks = [stream.mark() for stream in block.used_on if stream is not block.stream]
                block.used_on = set()
                self._awaited.append((block, marks))
            else:
                self._add_free(block)
        self.stats.freed(freed)
        if self._awaited:
            self._collect_awaited()

    def _collect_awaited(self) -> None:
        awaited, self._awaited = self._awaited, []
        for block, marks in awaited:
            if all(mark.query() for mark in marks):
                self._add_free(block)
            else:
                self._awaited.append((block, marks))

    def _add_free(self, block: Block) -> None:
        block.ticket = block.stream.ticket
        self._free[block.stream, block.size].append(block)

    # --- without it ----------------------------------------------------------------------------------

    def _allocate_after_trim(self, nbytes: int, stream: Stream) -> Buffer:
        for _, marks in list(self._awaited):
            for mark in marks:
                self._settle(mark.stream, mark.ticket)
        self.empty_cache()
        with self._lock:
            self.stats.num_alloc_retries += 1
            buffers = self._take_all((nbytes,), stream)
            if buffers:
                return buffers[0]
            self.stats.num_ooms += 1
        raise self._shortage(self._explain(nbytes))

    def _settle(self, stream: Stream, ticket: int) -> bool:
        """Wait for a task; from inside a task only look, as that one may wait for this."""
        if not stream.device.runs_here():
            stream.wait_for(ticket)
        return stream.is_done(ticket)

    def _release(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            with self._lock:
                del self._blocks[block]
                self.stats.released(block.size)
            self._give_up(block.address)

    def _explain(self, nbytes: int) -> str:
        used = self.stats.all.allocated_bytes.current
        return (
            f"mlirdev is out of memory: {format_bytes(nbytes)} were asked for, {format_bytes(self.limit - used)} of "
            f"{format_bytes(self.limit)} are free ({format_bytes(used)} in use). Nothing was written. Drop tensors "
            "that are no longer needed, use smaller batches, or raise the limit with MLIRDEV_MEMORY_MB"
        )


@lru_cache(maxsize=4096)
def size_class(nbytes: int) -> int:
    """The size of the block that serves a request of `nbytes`."""
    step_bits = max(6, (nbytes - 1).bit_length() - 1 - _CLASS_BITS)
    return max(1, (nbytes + (1 << step_bits) - 1) >> step_bits) << step_bits


def format_bytes(nbytes: int) -> str:
    """As torch.cuda writes amounts: 1.50 GiB."""
    amount, unit = float(nbytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{nbytes} bytes" if unit == "bytes" else f"{amount:.2f} {unit}"
