"""A run in short, as typed values that the terminal and the page share: what ran, where time went, six key figures.

Record ─► summarise ─► Summary ─► key_figures: its six figures in words
                         ├ kernels, compiles, waits, on_cpu: roofline.py, causes.py
                         └ failures: the record's own
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from mlirdev import schema
from mlirdev.explore.causes import Compile, OnCpu, Wait, compiles, on_cpu, waits
from mlirdev.explore.record import Record
from mlirdev.explore.roofline import KernelFacts, Work, is_dynamic, kernel_facts, work_of


@dataclass(frozen=True)
class Program:
    """What ran and with what. `wall_s` is how long the record goes on, `recording_s` what making it took of that;
    `whole` is false where the program ended without closing the record."""

    argv: list[str]
    started: str
    processor: str
    threads: int
    target: str
    versions: dict[str, str]
    wall_s: float
    recording_s: float
    whole: bool
    error: str


@dataclass(frozen=True)
class Counts:
    """How many there are of each thing. `hits` are runs of graphs found compiled; `host_launches` are ops of plans
    that ran on the CPU."""

    graphs: int
    runs: int
    hits: int
    kernels: int
    kernels_from_cache: int
    launches: int
    host_launches: int
    copies: int
    waits: int
    fallbacks: int
    failures: int


@dataclass(frozen=True)
class Span:
    """Seconds of one kind; `where` is host (then the program stood still for them) or device."""

    what: str
    where: str
    seconds: float
    note: str


@dataclass(frozen=True)
class Utilisation:
    """Floating-point operations against the processor's peak (0: not known): while kernels ran, and of the wall time.
    `of_peak` and `of_wall` are fractions of 1, None where no peak is known."""

    flops: int
    kernel_s: float
    gflops: float
    peak_gflops: float
    of_peak: float | None
    of_wall: float | None


@dataclass(frozen=True)
class Bandwidth:
    """Bytes that kernels read and wrote, each operand once, against the memory's bandwidth (0: not known)."""

    nbytes: int
    gbps: float
    peak_gbps: float
    of_peak: float | None


@dataclass(frozen=True)
class LaunchOverhead:
    """Host seconds from a flush to its enqueued plan, for graphs found compiled, without the kernels that the program's
    own thread ran meanwhile."""

    seconds: float
    runs: int
    median_run_s: float
    per_launch_s: float


@dataclass(frozen=True)
class CompileTime:
    """`waited_s` is what the program waited, `stages` are seconds of work over all workers."""

    waited_s: float
    graphs: int
    from_disk: int
    kernels: int
    stages: dict[str, float]


@dataclass(frozen=True)
class PeakMemory:
    """The most device memory in use at once, and when (None: only that it was)."""

    nbytes: int
    at: float | None


@dataclass(frozen=True)
class Recompiles:
    """Graphs compiled although one like them was known: for other sizes, or since the program did something else.
    `dynamic_kernels` take their sizes with each launch; `dynamic_of_bound` says how near they came to what the
    processor allows, `static_of_bound` the same of all others."""

    by_sizes: int
    by_program: int
    generalised: int
    dynamic_kernels: int
    dynamic_s: float
    dynamic_of_bound: float | None
    static_of_bound: float | None


@dataclass(frozen=True)
class Summary:
    """See the module's docstring."""

    program: Program
    counts: Counts
    spans: list[Span]
    utilisation: Utilisation
    bandwidth: Bandwidth
    launch_overhead: LaunchOverhead
    compile_time: CompileTime
    peak_memory: PeakMemory
    recompiles: Recompiles
    failures: list[schema.Failure]
    kernels: list[KernelFacts]
    compiles: list[Compile]
    waits: list[Wait]
    on_cpu: list[OnCpu]


def summarise(record: Record) -> Summary:
    """The run in short."""
    program, done = _program(record), _done(record)
    overhead = _launch_overhead(record)
    return Summary(
        program=program,
        counts=_counts(record),
        spans=_spans(record, program, overhead),
        utilisation=_utilisation(record, done, program.wall_s),
        bandwidth=_bandwidth(record, done),
        launch_overhead=overhead,
        compile_time=_compile_time(record),
        peak_memory=_peak_memory(record),
        recompiles=_recompiles(record),
        failures=record.failures,
        kernels=kernel_facts(record),
        compiles=compiles(record),
        waits=waits(record),
        on_cpu=on_cpu(record),
    )


def _program(record: Record) -> Program:
    header, end = record.header, record.end
    return Program(
        argv=header.argv,
        started=header.started,
        processor=header.processor,
        threads=header.threads,
        target=str(header.target.get("name", "")),
        versions=header.versions,
        wall_s=end.seconds if end else _last(record),
        recording_s=end.recording_s if end else 0.0,
        whole=record.is_whole,
        error=end.error if end else "",
    )


def _last(record: Record) -> float:
    """When the last thing happened, for a record that wasn't closed."""
    ends = [run.at + run.launch_s for run in record.runs.values()]
    ends += [launch.at + launch.seconds for launch in record.launches]
    ends += [wait.at for wait in record.syncs]
    return max(ends, default=0.0)


def _counts(record: Record) -> Counts:
    on_host = len(record.launches_of.get("", ()))
    return Counts(
        graphs=len(record.graphs),
        runs=len(record.runs),
        hits=sum(run.hit for run in record.runs.values()),
        kernels=len(record.kernels),
        kernels_from_cache=sum(kernel.from_cache for kernel in record.kernels.values()),
        launches=len(record.launches) - on_host,
        host_launches=on_host,
        copies=len(record.copies),
        waits=sum(not wait.explicit for wait in record.syncs),
        fallbacks=len(record.fallbacks),
        failures=len(record.failures),
    )


def _done(record: Record) -> Work:
    """What all kernels did together."""
    return sum((work_of(record, kernel) for kernel in record.kernels.values()), Work())


def _spans(record: Record, program: Program, overhead: LaunchOverhead) -> list[Span]:
    on_host = sum(launch.seconds for launch in record.launches_of.get("", ()))
    kernels = sum(launch.seconds for launch in record.launches) - on_host
    recorded = sum(run.record_s for run in record.runs.values())
    waited = sum(sync.seconds for sync in record.syncs)
    compiled = sum(graph.seconds for graph in record.graphs.values())
    rest = program.wall_s - recorded - waited - compiled - overhead.seconds
    return [
        Span("record", "host", recorded, "from a graph's first op to its launch, and the program's Python between"),
        Span("compile", "host", compiled, "waited for graphs that weren't known"),
        Span("launch", "host", overhead.seconds, "from a flush to its enqueued plan, for known graphs"),
        Span("wait", "host", waited, "for values, copies and synchronize"),
        Span("rest", "host", max(0.0, rest), "loading, the program's own Python, kernels run on its thread"),
        Span("kernels", "device", kernels, "all launches together; at the same time as the host's"),
        Span("ops on the CPU", "device", on_host, "ops of graphs that have no kernel"),
        Span("copies", "device", sum(copy.seconds for copy in record.copies), "to, from and within the device"),
    ]


def _utilisation(record: Record, done: Work, wall: float) -> Utilisation:
    peak = record.header.peak_gflops
    of_wall = done.flops / wall / 1e9 / peak if wall and peak else None
    of_peak = done.gflops / peak if peak else None
    return Utilisation(done.flops, done.seconds, done.gflops, peak, of_peak, of_wall)


def _bandwidth(record: Record, done: Work) -> Bandwidth:
    peak = record.header.peak_gbps
    return Bandwidth(done.nbytes, done.gbps, peak, done.gbps / peak if peak else None)


def _launch_overhead(record: Record) -> LaunchOverhead:
    launches: dict[int, list[schema.Launch]] = defaultdict(list)
    for launch in record.launches:
        launches[launch.run].append(launch)
    hits = [run for run in record.runs.values() if run.hit]
    each = [_host_seconds(run, launches[run.number]) for run in hits]
    launched = sum(len(launches[run.number]) for run in hits)
    return LaunchOverhead(
        seconds=sum(each),
        runs=len(hits),
        median_run_s=statistics.median(each) if each else 0.0,
        per_launch_s=sum(each) / launched if launched else 0.0,
    )


def _host_seconds(run: schema.Run, launches: list[schema.Launch]) -> float:
    """A run's time on the host, without what of its kernels ran before it was over: the caller's thread runs them
    where it would have waited for them."""
    over = run.at + run.launch_s
    inside = sum(max(0.0, min(over, launch.at + launch.seconds) - max(run.at, launch.at)) for launch in launches)
    return max(0.0, run.launch_s - inside)


def _compile_time(record: Record) -> CompileTime:
    graphs = record.graphs.values()
    stages: dict[str, float] = defaultdict(float)
    for graph in graphs:
        for stage, seconds in graph.stages.items():
            stages[stage] += seconds
    return CompileTime(
        waited_s=sum(graph.seconds for graph in graphs),
        graphs=len(graphs),
        from_disk=sum(graph.from_disk for graph in graphs),
        kernels=sum(not kernel.from_cache for kernel in record.kernels.values()),
        stages=dict(stages),
    )


def _peak_memory(record: Record) -> PeakMemory:
    highest = max(record.memory, key=lambda memory: memory.allocated, default=None)
    counted = int(record.end.metrics.get("peak_bytes", 0)) if record.end else 0
    if highest is None or counted > highest.allocated:
        return PeakMemory(counted, None)
    return PeakMemory(highest.allocated, highest.at)


def _recompiles(record: Record) -> Recompiles:
    causes = [compile_.cause for compile_ in compiles(record)]
    dynamic, static = Work(), Work()
    count = 0
    for kernel in record.kernels.values():
        if is_dynamic(record, kernel):
            dynamic, count = dynamic + work_of(record, kernel), count + 1
        else:
            static += work_of(record, kernel)
    return Recompiles(
        by_sizes=causes.count("sizes"),
        by_program=causes.count("program"),
        generalised=sum(graph.generalised for graph in record.graphs.values()),
        dynamic_kernels=count,
        dynamic_s=dynamic.seconds,
        dynamic_of_bound=dynamic.of_bound,
        static_of_bound=static.of_bound,
    )
