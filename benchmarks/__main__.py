"""The command line: `scripts/bench [steady|first|shapes|host] …`."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import torch
from rich.console import Console

from benchmarks import first, host, shapes, tables
from benchmarks.engines import ENGINES
from benchmarks.processes import Row, in_a_process
from benchmarks.workloads import WORKLOADS

KINDS = ("steady", "first", "shapes", "host")
console = Console(width=150)


class Names(click.ParamType[list[str]]):
    """Comma-separated names, each one of a few."""

    name = "names"

    def __init__(self, known: Sequence[str]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = value if isinstance(value, list) else [name for name in value.split(",") if name]
        for name in names:
            if name not in self.known:
                self.fail(f"'{name}' is none of {', '.join(self.known)}", param, ctx)
        return names


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kinds", nargs=-1, type=click.Choice(KINDS))
@click.option(
    "--only", type=Names(list(WORKLOADS)), help="Workloads of `steady`, with commas between; all if not given."
)
@click.option("--engines", type=Names(list(ENGINES)), default="eager,inductor,device", show_default=True)
@click.option("--threads", type=Names(["1", "2", "4", "8"]), default="1,2", show_default=True)
@click.option("--rounds", default=15, show_default=True)
@click.option("--round-ms", default=60.0, show_default=True, help="Time per engine and round.")
@click.option("--memory/--no-memory", default=True, show_default=True, help="Peak memory, in processes of their own.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds per process.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all that was measured there.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write a page with the tables there.")
def main(
    kinds: tuple[str, ...],
    only: list[str] | None,
    engines: list[str],
    threads: list[str],
    rounds: int,
    round_ms: float,
    memory: bool,
    timeout: float,
    json_file: Path | None,
    markdown: Path | None,
) -> None:
    """Speed of the device beside eager PyTorch and inductor, measured in one run.

    steady: models, training steps and kinds of kernels after warm-up, values checked first. first: seconds of the
    first call, with an empty cache and a full one. shapes: compiles while sizes change. host: what an op costs on
    tiny tensors. Without a name, all four. Needs a quiet machine, and a C++ compiler for inductor.
    """
    results: dict[str, Any] = {"machine": machine(), "rounds": rounds}
    shown: list[tables.Table] = []

    def done(kind: str, rows: Any, *made: tables.Table) -> None:
        results[kind] = rows
        for table in made:
            table.show(console)
        shown.extend(made)
        if json_file:
            json_file.write_text(json.dumps(results, indent=1))
        if markdown:
            markdown.write_text(tables.page(results["machine"], shown, rounds))

    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or KINDS:
            if kind == "steady":
                for count in map(int, threads):
                    rows = _steady(only or list(WORKLOADS), engines, count, rounds, round_ms, memory, folder, timeout)
                    ours = [engine for engine in engines if engine not in tables.OTHERS]
                    done(f"steady@{count}", rows, *(tables.steady(rows, engine, count) for engine in ours))
            elif kind == "first":
                pairs = [_first(model, e, folder, timeout) for model in first.MODELS for e in engines if e != "eager"]
                done(kind, pairs, tables.first(pairs))
            elif kind == "shapes":
                rows = [_shapes(what, e, folder, timeout) for what in shapes.NAMES for e in engines if e != "eager"]
                done(kind, rows, tables.shapes(rows))
            else:
                rows = [
                    {"case": c, **in_a_process("host", {"case": c, "threads": 1}, folder, timeout)} for c in host.CASES
                ]
                done(kind, rows, tables.host(rows))


def machine() -> Row:
    cpu = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    return {
        "cpu": cpu or platform.processor(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def _steady(
    names: list[str],
    engines: list[str],
    threads: int,
    rounds: int,
    round_ms: float,
    memory: bool,
    folder: str,
    timeout: float,
) -> list[Row]:
    rows = []
    for name in names:
        console.print(f"[dim]{name}, {threads} thread(s)[/dim]")
        chosen = ["eager", *(e for e in engines if e != "eager")]
        arguments = {"threads": threads, "engines": chosen, "rounds": rounds, "round_ms": round_ms}
        row = {"workload": name, **in_a_process("steady", {"workload": name, **arguments}, folder, timeout)}
        if memory and "error" not in row:
            row["peak_mb"] = {e: _peak(name, e, threads, folder, timeout) for e in chosen if e != "inductor"}
        rows.append(row)
    return rows


def _peak(name: str, engine: str, threads: int, folder: str, timeout: float) -> float | None:
    row = in_a_process("memory", {"workload": name, "threads": threads, "engine": engine}, folder, timeout)
    if "error" in row:
        console.print(f"[red]memory of {name} by {engine}: {row['error']}[/red]")
    return row.get("peak_mb")


def _first(model: str, engine: str, folder: str, timeout: float) -> tuple[Row, Row]:
    """Cold, then warm."""
    console.print(f"[dim]first call of {model} by {engine}[/dim]")
    arguments = {"model": model, "engine": engine, "threads": min(os.cpu_count() or 1, 2)}
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        cold, warm = ({**arguments, **in_a_process("first", arguments, fresh, timeout)} for _ in range(2))
    return cold, warm


def _shapes(what: str, engine: str, folder: str, timeout: float) -> Row:
    console.print(f"[dim]{what} by {engine}[/dim]")
    arguments = {"what": what, "engine": engine, "threads": 1}
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        return {**arguments, **in_a_process("shapes", arguments, fresh, timeout)}


if __name__ == "__main__":
    main(prog_name="scripts/bench")
