"""Counters of the allocator, under the names that `torch.cuda.memory_stats` gives them."""

from __future__ import annotations

from collections.abc import Sequence

# Blocks up to this size count as of the small pool, as in CUDA's allocator.
SMALL_BYTES = 1 << 20

_KEYS = ("current", "peak", "allocated", "freed")
# Blocks aren't split, so what is allocated is what is active.
_NAMES = {
    "allocation": ("allocation", "active"),
    "allocated_bytes": ("allocated_bytes", "active_bytes"),
    "requested_bytes": ("requested_bytes",),
    "segment": ("segment",),
    "reserved_bytes": ("reserved_bytes",),
}


class Counter:
    """An amount: now, at its highest, and all that was ever added."""

    __slots__ = ("added", "current", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.added = 0

    def add(self, amount: int) -> None:
        self.current += amount
        self.added += amount
        if self.current > self.peak:
            self.peak = self.current

    def reset_peak(self) -> None:
        self.peak = self.current

    def reset_accumulated(self) -> None:
        # What was added minus what was freed is what is there.
        self.added = self.current


class Pool:
    """The counters of one pool of blocks, or of all."""

    def __init__(self) -> None:
        self.counters = {name: Counter() for name in _NAMES}
        self.allocation = self.counters["allocation"]
        self.allocated_bytes = self.counters["allocated_bytes"]
        self.requested_bytes = self.counters["requested_bytes"]
        self.segment = self.counters["segment"]
        self.reserved_bytes = self.counters["reserved_bytes"]

    def allocated(self, count: int, requested: int, size: int) -> None:
        self.allocation.add(count)
        self.allocated_bytes.add(size)
        self.requested_bytes.add(requested)

    def freed(self, count: int, requested: int, size: int) -> None:
        self.allocation.current -= count
        self.allocated_bytes.current -= size
        self.requested_bytes.current -= requested

    def reserved(self, size: int) -> None:
        self.segment.add(1)
        self.reserved_bytes.add(size)

    def released(self, size: int) -> None:
        self.segment.current -= 1
        self.reserved_bytes.current -= size


class MemoryStats:
    """Changed with the allocator's lock held."""

    def __init__(self) -> None:
        self.all = Pool()
        self._pools = {"all": self.all, "small_pool": Pool(), "large_pool": Pool()}
        self._small, self._large = self._pools["small_pool"], self._pools["large_pool"]
        self.num_alloc_retries = 0
        self.num_ooms = 0

    def allocated(self, blocks: Sequence[tuple[int, int]]) -> None:
        """Count blocks: of each the bytes requested, and its size."""
        for pool, sums in self._sums(blocks):
            self.all.allocated(*sums)
            pool.allocated(*sums)

    def freed(self, blocks: Sequence[tuple[int, int]]) -> None:
        for pool, sums in self._sums(blocks):
            self.all.freed(*sums)
            pool.freed(*sums)

    def reserved(self, size: int) -> None:
        self.all.reserved(size)
        self._pool(size).reserved(size)

    def released(self, size: int) -> None:
        self.all.released(size)
        self._pool(size).released(size)

    def reset_peak(self) -> None:
        for pool in self._pools.values():
            for counter in pool.counters.values():
                counter.reset_peak()

    def reset_accumulated(self) -> None:
        for pool in self._pools.values():
            for counter in pool.counters.values():
                counter.reset_accumulated()
        self.num_alloc_retries = self.num_ooms = 0

    def as_dict(self) -> dict[str, int]:
        """`{name}.{pool}.{current,peak,allocated,freed}`, and the number of shortages."""
        result: dict[str, int] = {}
        for pool_name, pool in self._pools.items():
            for counter_name, counter in pool.counters.items():
                values = (counter.current, counter.peak, counter.added, counter.added - counter.current)
                for name in _NAMES[counter_name]:
                    result.update({f"{name}.{pool_name}.{k}": v for k, v in zip(_KEYS, values, strict=True)})
            for name in ("inactive_split", "inactive_split_bytes"):
                result.update({f"{name}.{pool_name}.{k}": 0 for k in _KEYS})
        result["num_alloc_retries"] = self.num_alloc_retries
        result["num_ooms"] = self.num_ooms
        return result

    def _sums(self, blocks: Sequence[tuple[int, int]]) -> list[tuple[Pool, list[int]]]:
        """For each pool that has some of the blocks: how many, bytes requested, sizes."""
        small, large = [0, 0, 0], [0, 0, 0]
        for requested, size in blocks:
            sums = small if size <= SMALL_BYTES else large
            sums[0] += 1
            sums[1] += requested
            sums[2] += size
        return [(pool, sums) for pool, sums in ((self._small, small), (self._large, large)) if sums[0]]

    def _pool(self, size: int) -> Pool:
        return self._small if size <= SMALL_BYTES else self._large
