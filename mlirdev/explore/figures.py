"""The six key figures of a run in words, for the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass

from mlirdev.explore import units
from mlirdev.explore.summary import Summary


@dataclass(frozen=True)
class Figure:
    """One key figure: a title, its value, and what is behind it."""

    key: str
    title: str
    value: str
    note: str


def key_figures(summary: Summary) -> list[Figure]:
    """Utilisation, bandwidth, launch overhead, compile time, peak memory, recompiles."""
    return [
        Figure("utilisation", "utilisation", *_utilisation(summary)),
        Figure("bandwidth", "bandwidth", *_bandwidth(summary)),
        Figure("launch_overhead", "launch overhead", *_launch_overhead(summary)),
        Figure("compile_time", "compile time", *_compile_time(summary)),
        Figure("peak_memory", "peak memory", units.nbytes(summary.peak_memory.nbytes), "on the device, in use at once"),
        Figure("recompiles", "recompiles", *_recompiles(summary)),
    ]


def _utilisation(summary: Summary) -> tuple[str, str]:
    used = summary.utilisation
    reached = f"{units.rate(used.gflops)} GFLOP/s while kernels ran"
    if not used.peak_gflops:
        return units.share(None), f"{reached}; the processor's peak isn't known"
    note = f"{reached}, of {used.peak_gflops:,.0f}; {units.share(used.of_wall)} of the whole time"
    return units.share(used.of_peak), note


def _bandwidth(summary: Summary) -> tuple[str, str]:
    moved = summary.bandwidth
    reached = f"{units.rate(moved.gbps)} GB/s while kernels ran"
    peak = f", of {moved.peak_gbps:,.0f}" if moved.peak_gbps else "; the memory's bandwidth isn't known"
    return units.share(moved.of_peak), reached + peak


def _launch_overhead(summary: Summary) -> tuple[str, str]:
    launch = summary.launch_overhead
    if not launch.runs:
        return "–", "no graph was run a second time"
    note = f"a run of a known graph, the median of {launch.runs:,}; {units.seconds(launch.per_launch_s)} a kernel"
    return units.seconds(launch.median_run_s), note


def _compile_time(summary: Summary) -> tuple[str, str]:
    compiled = summary.compile_time
    work = units.seconds(sum(compiled.stages.values()))
    note = (
        f"waited for {compiled.graphs:,} graphs ({compiled.from_disk:,} found on disk); "
        f"{compiled.kernels:,} kernels compiled; {work} of work"
    )
    return units.seconds(compiled.waited_s), note


def _recompiles(summary: Summary) -> tuple[str, str]:
    again = summary.recompiles
    note = f"{again.by_sizes:,} for other sizes, {again.by_program:,} for other ops"
    if again.dynamic_kernels and again.dynamic_of_bound is None:
        note += f"; {again.dynamic_kernels:,} kernels have run-time sizes"
    elif again.dynamic_kernels:
        of_bound = units.share(again.dynamic_of_bound)
        static = f" (others {units.share(again.static_of_bound)})" if again.static_of_bound is not None else ""
        note += f"; {again.dynamic_kernels:,} kernels with run-time sizes reach {of_bound} of their bound{static}"
    return f"{again.by_sizes + again.by_program:,}", note
