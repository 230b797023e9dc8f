"""Differences: between two texts, two records, two pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlirdev.explore import units
from mlirdev.explore.recorddiff import Names, PassesDiff, RecordDiff
from mlirdev.explore.textdiff import Line, TextDiff, head, unified
from mlirdev.explore.view import Part, Prose, Styled, Table, View

_COLOURS = {"-": "red", "+": "green", " ": ""}
_CHANGED = {"-": "black on red", "+": "black on green"}
_SHOWN_TIMES = 20


@dataclass(frozen=True)
class NearestDiff:
    """How a graph differs from the cached one that it was compared with, and what the compiler said of that."""

    graph: str
    nearest: str
    reason: str
    diff: TextDiff


def text_view(diff: TextDiff) -> View:
    """Unified, with the words that were changed marked on a terminal; nothing where the texts are equal."""
    return View(diff, [] if diff.equal else [styled(diff)])


def styled(diff: TextDiff) -> Styled:
    """The part that shows a difference."""
    return Styled(unified(diff), list(_styled_lines(diff)))


def nearest_view(found: NearestDiff) -> View:
    """The reason in words, then the difference of the two graphs."""
    parts: list[Part] = [] if found.diff.equal else [styled(found.diff)]
    return View(found, [Prose("", [f"{found.graph} was compiled: {found.reason}"]), *parts])


def record_view(diff: RecordDiff) -> View:
    """Graphs and kernels of one record alone, passes whose IR differs, times beside each other."""
    parts: list[Part] = [Prose(f"{diff.a} and {diff.b}", [_verdict(diff)])]
    if diff.options:
        rows = [(name, ours, theirs) for name, (ours, theirs) in diff.options.items()]
        parts.append(Table("Options and versions", ("name", "A", "B"), rows, frozenset({"name", "A", "B"})))
    parts += [*_only("graphs", diff.graphs), *_only("kernels", diff.kernels)]
    if diff.passes:
        parts.append(_passes(diff.passes))
    parts.append(_spans(diff))
    if diff.kernel_times:
        parts.append(_kernel_times(diff))
    return View(diff, parts)


def _styled_lines(diff: TextDiff) -> Iterator[Sequence[tuple[str, str]]]:
    yield [(f"--- {diff.a}", "bold")]
    yield [(f"+++ {diff.b}", "bold")]
    for hunk in diff.hunks:
        yield [(head(hunk), "cyan")]
        for line in hunk.lines:
            yield list(_styled_line(line))


def _styled_line(line: Line) -> Iterator[tuple[str, str]]:
    colour, end = _COLOURS[line.mark], 0
    yield line.mark, colour
    for first, last in line.changed:
        yield line.text[end:first], colour
        yield line.text[first:last], _CHANGED[line.mark]
        end = last
    yield line.text[end:], colour


def _verdict(diff: RecordDiff) -> str:
    if diff.equal:
        return "the same graphs, kernels, passes and IR"
    count = len(diff.passes)
    return (
        f"graphs: {_counted(diff.graphs)}; kernels: {_counted(diff.kernels)}; "
        f"the passes of {count} {'owner' if count == 1 else 'owners'} differ"
    )


def _counted(names: Names) -> str:
    return f"{names.both} in both, {len(names.only_a)} in A alone, {len(names.only_b)} in B alone"


def _only(what: str, names: Names) -> Iterator[Prose]:
    if names.only_a:
        yield Prose(f"{what} in A alone", [f"  {name}" for name in names.only_a])
    if names.only_b:
        yield Prose(f"{what} in B alone", [f"  {name}" for name in names.only_b])


def _passes(found: Sequence[PassesDiff]) -> Table:
    rows = []
    for diff in found:
        numbers = f"{diff.first[0]}, {diff.first[1]}" if diff.first else ""
        only = [f"-{name}" for name in diff.only_a] + [f"+{name}" for name in diff.only_b]
        rows.append((diff.owner, numbers, diff.first_name, ", ".join(only)))
    columns = ("owner", "passes", "IR differs first after", "passes of one alone")
    return Table("Passes", columns, rows, frozenset({"owner", "IR differs first after", "passes of one alone"}))


def _spans(diff: RecordDiff) -> Table:
    rows = [
        (span.what, units.seconds(span.a_s), units.seconds(span.b_s), _times(span.b_s / span.a_s if span.a_s else None))
        for span in diff.spans
    ]
    return Table("Times", ("what", "A", "B", "B / A"), rows, frozenset({"what"}))


def _kernel_times(diff: RecordDiff) -> Table:
    rows = [
        (times.name, units.seconds(times.a_median_s), units.seconds(times.b_median_s), _times(times.ratio))
        for times in diff.kernel_times[:_SHOWN_TIMES]
    ]
    title = "Kernels of both, median launch"
    return Table(title, ("kernel", "A", "B", "B / A"), rows, frozenset({"kernel"}))


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f} ×"
