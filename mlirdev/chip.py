"""What a chip is made of, as far as a simulated clock needs to know: units, memories, links and what calls cost.

The parts of a target file beside those that code is made from (see `target`). All are frozen and have defaults that
say "nothing special": no clock, no units, no memories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mlirdev.described import QUANTITY

# A number of bytes, which a file may also write with its unit.
Size = Annotated[int, Meta(ge=0, extra_json_schema={"pattern": QUANTITY, "examples": ["128KiB"]})]
Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Amount = Annotated[float, Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of what a target file's mappings are read into."""


class Devices(Part, frozen=True):
    """How many devices, how many streams run at a time on each, and how many engines copy beside them."""

    count: Count = 1
    streams: Count = 8
    copy_engines: Count = 1


class VectorUnit(Part, frozen=True):
    """`count` units, each of which does `bits` worth of elements a cycle."""

    count: Count = 1
    bits: Count = 256


class MatrixUnit(Part, frozen=True):
    """`count` units, each of which multiplies tiles of `tile` = [m, n, k] and does so many `macs` (multiplications with
    addition) a cycle, by the operands' type."""

    count: Count = 1
    tile: tuple[Count, Count, Count] = (16, 16, 16)
    macs: Mapping[str, Count] = {}


class Units(Part, frozen=True):
    """What computes. `special` are elements a cycle by function ("exp", "div", …) of all the vector units together."""

    vector: VectorUnit | None = None
    matrix: MatrixUnit | None = None
    special: Mapping[str, Positive] = {}


class Memory(Part, frozen=True):
    """A memory: its size (0: without limit), how fast it is (in 10⁹ bytes a second, or in bytes a cycle) and how long
    the first byte takes; `scope` says whether each core has one, or the device; `space` is its memory space in MLIR."""

    size: Size = 0
    gbps: Amount = 0.0
    bytes_per_cycle: Amount = 0.0
    latency_ns: Amount = 0.0
    latency_cycles: Amount = 0.0
    scope: Literal["core", "device"] = "device"
    space: Natural = 0


class HostLink(Part, frozen=True):
    """What copies between host and device go through."""

    gbps: Positive = 16.0
    latency_us: Amount = 0.0


class Calls(Part, frozen=True):
    """What calls cost: `record_us` the host per recorded op, `enqueue_us` the host per kernel, `overhead_us` the device
    per kernel."""

    record_us: Amount = 0.0
    enqueue_us: Amount = 0.0
    overhead_us: Amount = 0.0


class DTypes(Part, frozen=True):
    """Element types that the chip has (empty: all), and what it computes others in: another type, or "native" for a
    library of its own."""

    legal: tuple[str, ...] = ()
    emulated: Mapping[str, str] = {}
