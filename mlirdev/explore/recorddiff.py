"""Two records compared: graphs, kernels, passes and their IR, times.

Graphs and kernels have names that say what is in them, so the same name is the same thing, whatever made it faster or
slower. Two records are equal if they have the same graphs and kernels, and every pass leaves the same IR but for
locations; times never are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from mlirdev.explore.irtext import Hidden, language_of, normalized
from mlirdev.explore.record import Record
from mlirdev.explore.roofline import kernel_facts
from mlirdev.explore.steps import Step, steps
from mlirdev.explore.summary import summarise

_WITHOUT_LOCATIONS = Hidden(locations=True)


@dataclass(frozen=True)
class Names:
    """The names that only one record has, and how many both have."""

    only_a: list[str]
    only_b: list[str]
    both: int


@dataclass(frozen=True)
class KernelTimes:
    """A kernel of both records: the median seconds of a launch, and B's over A's (None where one never ran)."""

    name: str
    a_median_s: float
    b_median_s: float
    ratio: float | None


@dataclass(frozen=True)
class PassesDiff:
    """The passes of a graph or kernel of both records. `first` is the first pass after which the IR differs, by its
    numbers in A and B (None: where there are only passes more or fewer)."""

    owner: str
    only_a: list[str]
    only_b: list[str]
    first: tuple[int, int] | None
    first_name: str


@dataclass(frozen=True)
class SpanTimes:
    """Seconds of a kind in both records."""

    what: str
    a_s: float
    b_s: float


@dataclass(frozen=True)
class RecordDiff:
    """How record B differs from A."""

    a: str
    b: str
    equal: bool
    graphs: Names
    kernels: Names
    passes: list[PassesDiff]
    options: dict[str, tuple[str, str]]
    kernel_times: list[KernelTimes]
    spans: list[SpanTimes]


def compare_records(a: Record, b: Record) -> RecordDiff:
    """How record b differs from a."""
    graphs, kernels = _names(a.graphs, b.graphs), _names(a.kernels, b.kernels)
    owners = [owner for owner in a.passes if owner in b.passes]
    passes = [found for owner in owners if (found := _passes(a, b, owner))]
    only = (graphs.only_a, graphs.only_b, kernels.only_a, kernels.only_b, passes)
    return RecordDiff(
        a=str(a.folder),
        b=str(b.folder),
        equal=not any(only),
        graphs=graphs,
        kernels=kernels,
        passes=passes,
        options=_options(a, b),
        kernel_times=_kernel_times(a, b),
        spans=_spans(a, b),
    )


def _names(a: Collection[str], b: Collection[str]) -> Names:
    return Names([n for n in a if n not in b], [n for n in b if n not in a], sum(n in b for n in a))


def _passes(a: Record, b: Record, owner: str) -> PassesDiff | None:
    """How the passes of an owner differ, None where they don't."""
    ours, theirs = steps(a, owner), steps(b, owner)
    opcodes = SequenceMatcher(None, _labels(ours), _labels(theirs), autojunk=False).get_opcodes()
    only_a = [step.name for tag, i, j, _, _ in opcodes if tag != "equal" for step in ours[i:j]]
    only_b = [step.name for tag, _, _, i, j in opcodes if tag != "equal" for step in theirs[i:j]]
    same = [(i + k, m + k) for tag, i, j, m, _ in opcodes if tag == "equal" for k in range(j - i)]
    differs = next((pair for pair in same if _text(a, owner, pair[0]) != _text(b, owner, pair[1])), None)
    if differs is None and not (only_a or only_b):
        return None
    first = None if differs is None else (ours[differs[0]].number, theirs[differs[1]].number)
    return PassesDiff(owner, only_a, only_b, first, "" if differs is None else ours[differs[0]].name)


def _labels(found: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.stage, step.name) for step in found]


def _text(record: Record, owner: str, position: int) -> str:
    step = record.passes[owner][position]
    return normalized(record.text(step), language_of(step.file), _WITHOUT_LOCATIONS)


def _options(a: Record, b: Record) -> dict[str, tuple[str, str]]:
    """Options, versions and target that aren't the same."""
    ours = {**a.header.options, **a.header.versions, "target": str(a.header.target.get("name", ""))}
    theirs = {**b.header.options, **b.header.versions, "target": str(b.header.target.get("name", ""))}
    names = dict.fromkeys([*ours, *theirs])
    pairs = {name: (ours.get(name, ""), theirs.get(name, "")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _kernel_times(a: Record, b: Record) -> list[KernelTimes]:
    theirs = {facts.name: facts.median_s for facts in kernel_facts(b)}
    return [
        KernelTimes(facts.name, facts.median_s, theirs[facts.name], _ratio(facts.median_s, theirs[facts.name]))
        for facts in kernel_facts(a)
        if facts.name in theirs
    ]


def _ratio(a: float, b: float) -> float | None:
    return b / a if a and b else None


def _spans(a: Record, b: Record) -> list[SpanTimes]:
    ours, theirs = summarise(a), summarise(b)
    times = [SpanTimes(x.what, x.seconds, y.seconds) for x, y in zip(ours.spans, theirs.spans, strict=True)]
    return [SpanTimes("all", ours.program.wall_s, theirs.program.wall_s), *times]
