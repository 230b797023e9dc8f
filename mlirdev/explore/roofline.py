"""What each kernel did against what the processor can do.

    Kernel, its Launches, the header's peaks ─► KernelFacts: time, work, rates, what bounds it, how near it comes

A kernel can't take less than the longer of flops / peak and bytes / bandwidth; which one is longer is its bound, and
that time over the time taken is how near it came. Bytes count each operand once, so a kernel whose operands were still
in the cache can come out above 100 % of the memory's bandwidth.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from mlirdev import schema
from mlirdev.explore.record import Record


@dataclass(frozen=True)
class Work:
    """What was done: operations and bytes, in how many seconds, and the fewest seconds that the processor's peaks
    allow for it (0: not known)."""

    flops: int = 0
    nbytes: int = 0
    seconds: float = 0.0
    least_s: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.nbytes + other.nbytes,
            self.seconds + other.seconds,
            self.least_s + other.least_s,
        )

    @property
    def gflops(self) -> float:
        """10⁹ operations a second."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gbps(self) -> float:
        """10⁹ bytes a second."""
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def of_bound(self) -> float | None:
        """How near it came to what the processor allows, a fraction of 1; None where that isn't known."""
        return self.least_s / self.seconds if self.seconds and self.least_s else None


@dataclass(frozen=True)
class KernelFacts:
    """A kernel over the whole run. `flops` and `nbytes` are of all its launches; `bound` is compute, memory, or
    unknown; `share` is its part of the seconds that all kernels took; `dynamic`: sizes come with each launch. `lines`
    are the Python lines that it computes for, those of most launches first."""

    name: str
    type: str
    launches: int
    seconds: float
    median_s: float
    share: float
    flops: int
    nbytes: int
    gflops: float
    gbps: float
    bound: str
    of_bound: float | None
    dynamic: bool
    from_cache: bool
    differs: bool
    compile_s: float
    object_bytes: int
    threads: int
    graphs: list[str]
    lines: list[str]
    signature: str


def kernel_facts(record: Record) -> list[KernelFacts]:
    """Every kernel, what took longest first."""
    busy = sum(launch.seconds for name, launches in record.launches_of.items() if name for launch in launches)
    facts = [_facts(record, kernel, busy) for kernel in record.kernels.values()]
    return sorted(facts, key=lambda fact: (-fact.seconds, fact.name))


def work_of(record: Record, kernel: schema.Kernel) -> Work:
    """What a kernel did in all its launches."""
    return sum((launch_work(record, kernel, launch) for launch in record.launches_of.get(kernel.name, ())), Work())


def launch_work(record: Record, kernel: schema.Kernel, launch: schema.Launch) -> Work:
    """What one launch did; its own counts are those of a kernel whose sizes are run-time."""
    flops, nbytes = launch.flops or kernel.flops, launch.nbytes or kernel.nbytes
    return Work(flops, nbytes, launch.seconds, max(_least(record.header, flops, nbytes)))


def is_dynamic(record: Record, kernel: schema.Kernel) -> bool:
    """Whether the kernel's work depends on the sizes of the run."""
    launches = record.launches_of.get(kernel.name, ())
    return not (kernel.flops or kernel.nbytes) and any(launch.flops or launch.nbytes for launch in launches)


def bound_of(header: schema.Header, flops: float, nbytes: float) -> str:
    """What bounds this much work on the processor: compute, memory, or unknown."""
    compute, memory = _least(header, flops, nbytes)
    if not (compute or memory):
        return "unknown"
    return "compute" if compute > memory else "memory"


def _least(header: schema.Header, flops: float, nbytes: float) -> tuple[float, float]:
    """The fewest seconds for this much computing, and for this much memory; 0 where a peak isn't known."""
    compute = flops / header.peak_gflops / 1e9 if header.peak_gflops else 0.0
    memory = nbytes / header.peak_gbps / 1e9 if header.peak_gbps else 0.0
    return compute, memory


def _facts(record: Record, kernel: schema.Kernel, busy: float) -> KernelFacts:
    launches = record.launches_of.get(kernel.name, [])
    done = work_of(record, kernel)
    # Of a kernel that was compiled and never launched, the work of one launch says what would bound it.
    flops, nbytes = (done.flops, done.nbytes) if launches else (kernel.flops, kernel.nbytes)
    return KernelFacts(
        name=kernel.name,
        type=kernel.type,
        launches=len(launches),
        seconds=done.seconds,
        median_s=statistics.median([launch.seconds for launch in launches]) if launches else 0.0,
        share=done.seconds / busy if busy else 0.0,
        flops=done.flops,
        nbytes=done.nbytes,
        gflops=done.gflops,
        gbps=done.gbps,
        bound=bound_of(record.header, flops, nbytes),
        of_bound=done.of_bound,
        dynamic=is_dynamic(record, kernel),
        from_cache=kernel.from_cache,
        differs=kernel.differs,
        compile_s=kernel.seconds,
        object_bytes=kernel.object_bytes,
        threads=max((launch.threads for launch in launches), default=0),
        graphs=record.graphs_of_kernel.get(kernel.name, []),
        lines=[str(place) for place in record.places_of_kernel.get(kernel.name, [])],
        signature=kernel.signature,
    )
