"""Counters of the allocator, under the names that `torch.cuda.memory_stats` gives them."""

from __future__ import annotations

# Blocks up to this size count as of the small pool, as in CUDA's allocator.
SMALL_BYTES = 1 << 20


class Counter:
    """An amount: now, at its highest, and all that was ever added and taken away."""

    __slots__ = ("added", "current", "peak", "taken")

    def __init__(self) -> None:
        self.current = self.peak = self.added = self.taken = 0

    def add(self, amount: int) -> None:
        self.current += amount
        self.added += amount
        if self.current > self.peak:
            self.peak = self.current

    def take(self, amount: int) -> None:
        self.current -= amount
        self.taken += amount

    def reset_peak(self) -> None:
        self.peak = self.current

    def reset_accumulated(self) -> None:
        self.added = self.taken = 0


# What is counted for all blocks, and for small and large ones apart.
_NAMES = ("allocation", "allocated_bytes", "requested_bytes", "segment", "reserved_bytes")
_KEYS = ("current", "peak", "allocated", "freed")
_POOLS = ("all", "small_pool", "large_pool")


class MemoryStats:
    """Changed with the allocator's lock held."""

    def __init__(self) -> None:
        self._counters = {(name, pool): Counter() for name in _NAMES for pool in _POOLS}
        self.allocated_bytes = self._counters["allocated_bytes", "all"]
        self.reserved_bytes = self._counters["reserved_bytes", "all"]
        self.num_alloc_retries = 0
        self.num_ooms = 0

    def allocated(self, requested: int, size: int) -> None:
        self._add(("allocation", "allocated_bytes", "requested_bytes"), (1, size, requested), size)

    def freed(self, requested: int, size: int) -> None:
        self._take(("allocation", "allocated_bytes", "requested_bytes"), (1, size, requested), size)

    def reserved(self, size: int) -> None:
        self._add(("segment", "reserved_bytes"), (1, size), size)

    def released(self, size: int) -> None:
        self._take(("segment", "reserved_bytes"), (1, size), size)

    def reset_peak(self) -> None:
        for counter in self._counters.values():
            counter.reset_peak()

    def reset_accumulated(self) -> None:
        for counter in self._counters.values():
            counter.reset_accumulated()
        self.num_alloc_retries = self.num_ooms = 0

    def as_dict(self) -> dict[str, int]:
        """`{name}.{pool}.{current,peak,allocated,freed}`; a block is active as long as it is allocated."""
        result: dict[str, int] = {}
        for (name, pool), counter in self._counters.items():
            values = dict(zip(_KEYS, (counter.current, counter.peak, counter.added, counter.taken), strict=True))
            for alias in (name, *_ALIASES.get(name, ())):
                result.update({f"{alias}.{pool}.{key}": value for key, value in values.items()})
        for name in ("inactive_split", "inactive_split_bytes"):
            result.update(
                {f"{name}.{pool}.{key}": 0 for pool in _POOLS for key in ("current", "peak", "allocated", "freed")}
            )
        result["num_alloc_retries"] = self.num_alloc_retries
        result["num_ooms"] = self.num_ooms
        return result

    def _add(self, names: tuple[str, ...], amounts: tuple[int, ...], size: int) -> None:
        pool = "small_pool" if size <= SMALL_BYTES else "large_pool"
        for name, amount in zip(names, amounts, strict=True):
            self._counters[name, "all"].add(amount)
            self._counters[name, pool].add(amount)

    def _take(self, names: tuple[str, ...], amounts: tuple[int, ...], size: int) -> None:
        pool = "small_pool" if size <= SMALL_BYTES else "large_pool"
        for name, amount in zip(names, amounts, strict=True):
            self._counters[name, "all"].take(amount)
            self._counters[name, pool].take(amount)


# Blocks aren't split, so what is allocated is what is active.
_ALIASES = {"allocation": ("active",), "allocated_bytes": ("active_bytes",)}
