"""Ratios, and tables of them: for a terminal and as Markdown.

A speed ratio is the median over rounds of the other's seconds over ours: above 1 ours is faster. A row whose values
are off has no ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.processes import Row

OTHERS = ("eager", "inductor")


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def show(self, console: Console) -> None:
        grid = Grid(title=self.title, title_justify="left", caption=self.note, caption_justify="left")
        for number, column in enumerate(self.columns):
            grid.add_column(column, justify="right" if number else "left", no_wrap=True)
        for row in self.rows:
            grid.add_row(*row)
        console.print(grid)

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _line(self.columns), _line(["---", *["---:"] * (len(self.columns) - 1)])]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])


def page(machine: Row, shown: Sequence[Table], rounds: int) -> str:
    """A page of Markdown with all tables, the machine and how to have them again."""
    head = f"""# Speed

Measured on {machine["date"]}: {machine["cpu"]}, {machine["cores"]} cores, torch {machine["torch"]}. To have
these tables for your machine: `scripts/bench --markdown docs/speed.md`. Each workload runs in a process of its own,
values are checked before times are taken, engines take turns in {rounds} rounds, every step is waited for, and times
are medians. *× eager* and *× best* are the medians over the rounds of the other's time over ours (above 1: ours is
faster; best: the faster of eager and inductor). *cores* is CPU time over time, eager's and ours; *memory* is our
process's peak over eager's.
"""
    return "\n".join([head, *(table.markdown() for table in shown)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# --- steady ---------------------------------------------------------------------------------------


def is_right(row: Row, engine: str) -> bool:
    return "error" not in row and bool(row["engines"][engine]["apart"] <= row["tolerance"])


def speed(row: Row, engine: str, other: str) -> float:
    ours: list[float] = row["engines"][engine]["rounds_s"]
    theirs: list[float] = row["engines"][other]["rounds_s"]
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def best_other(row: Row) -> str:
    present = [name for name in OTHERS if name in row["engines"] and is_right(row, name)]
    return min(present, key=lambda name: statistics.median(row["engines"][name]["rounds_s"]))


def steady(rows: Sequence[Row], engine: str, threads: int) -> Table:
    """Milliseconds per step of each engine, the engine's speed against eager and the best of the others."""
    shown, against_eager, against_best = [], [], []
    for row in rows:
        if "error" in row:
            shown.append([row["workload"], row["error"][:60], *[""] * 8])
            continue
        ours = row["engines"][engine]
        times = [_milliseconds(row, name) for name in (*OTHERS, engine)]
        if not is_right(row, engine):
            shown.append([row["workload"], *times, f"WRONG: {ours['apart']:.1e} apart", *[""] * 5])
            continue
        eager, best = speed(row, engine, "eager"), speed(row, engine, best_other(row))
        against_eager.append(eager)
        against_best.append(best)
        memory = row.get("peak_mb", {})
        ratio = f"{memory[engine] / memory['eager']:.2f}" if memory.get(engine) and memory.get("eager") else ""
        cores = "/".join(f"{row['engines'][n]['cores']:.1f}" for n in ("eager", engine))
        counts = f"{ours['steady_compiles']}/{row['fallbacks']}"
        shown.append([row["workload"], *times, f"{eager:.2f}", f"{best:.2f}", cores, counts, ratio])
    columns = [
        "",
        "eager ms",
        "inductor ms",
        f"{engine} ms",
        "× eager",
        "× best",
        "cores",
        "compiles/fallbacks",
        "memory",
    ]
    note = ""
    if against_best:
        means = [math.exp(statistics.fmean(map(math.log, values))) for values in (against_eager, against_best)]
        note = (
            f"Geometric mean of {len(against_best)} of {len(rows)}: {means[0]:.2f} × eager, {means[1]:.2f} × the best "
            f"of eager and inductor; {sum(v < 0.9 for v in against_best)} under 0.9."
        )
    return Table(f"Speed after warm-up, {threads} thread{'s' * (threads > 1)}: {engine}", columns, shown, note)


def _milliseconds(row: Row, engine: str) -> str:
    if engine not in row["engines"]:
        return ""
    if not is_right(row, engine):
        return "wrong"
    return f"{1e3 * statistics.median(row['engines'][engine]['rounds_s']):.2f}"


# --- first calls and shapes -----------------------------------------------------------------------


def first(pairs: Sequence[tuple[Row, Row]]) -> Table:
    """Of (cold, warm) rows."""
    shown = []
    for cold, warm in pairs:
        error = _error(cold) or _error(warm)
        seconds = [error[:60], ""] if error else [f"{cold['first_s']:.2f}", f"{warm['first_s']:.2f}"]
        ratio = _against_inductor(cold, [c for c, _ in pairs])
        shown.append([cold["model"], cold["engine"], *seconds, ratio])
    note = "In fresh processes, from the call until its values are there; imports and the model's weights aren't in it."
    return Table("The first call", ["", "engine", "cold s", "warm s", "cold, × inductor"], shown, note)


def _against_inductor(row: Row, rows: Sequence[Row]) -> str:
    theirs = next((r for r in rows if r["model"] == row["model"] and r["engine"] == "inductor"), None)
    if theirs is None or theirs is row or _error(row) or _error(theirs):
        return ""
    return f"{theirs['first_s'] / row['first_s']:.1f}"


def shapes(rows: Sequence[Row]) -> Table:
    shown = []
    for row in rows:
        error = _error(row)
        if error:
            shown.append([row["what"], row["engine"], error[:60], "", ""])
            continue
        compiles = [int(call["compiles"]) for call in row["calls"]]
        seconds = sum(call["seconds"] for call in row["calls"])
        late = sum(compiles[row["before"] + 3 :])
        shown.append([row["what"], row["engine"], str(sum(compiles)), str(late), f"{seconds:.2f}"])
    columns = ["", "engine", "compiles", "after the third step", "seconds"]
    return Table("Sizes that change", columns, shown, "Batch sizes 1 to 8 in a row; a prompt of 8, then 64 tokens.")


def _error(row: Row) -> str:
    if "error" in row:
        return str(row["error"])
    return f"WRONG: {row['apart']:.1e} apart" if row["apart"] > row["tolerance"] else ""


# --- host -----------------------------------------------------------------------------------------


def host(rows: Sequence[Row]) -> Table:
    shown = []
    for row in rows:
        if "error" in row:
            shown.append([row["case"], row["error"][:60], "", "", ""])
            continue
        times = [f"{1e6 * row[key]:.2f}" for key in ("eager_s", "record_s", "total_s")]
        wrong = "" if row["agree"] else " WRONG"
        shown.append([row["case"], str(row["ops"]), *times, f"{row['compiles']}{wrong}"])
    columns = ["", "ops", "eager µs", "record µs", "total µs", "compiles"]
    return Table("What an op costs the host", columns, shown, "On tiny tensors, per recorded op; medians of rounds.")
