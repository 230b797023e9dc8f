"""The stages of a graph or kernel as the page holds them: every different line once, and what each stands for.

Most lines of a stage are those of the stage before, so a stage is runs of a table of lines. Locations aren't in the
text: what they say is kept line by line, as ordinals, which is what the page needs and a fraction of their size.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from mlirdev import schema
from mlirdev.dump import COMMENTS
from mlirdev.explore.irtext import language_of, lines_without_locations
from mlirdev.explore.links import Links
from mlirdev.explore.ordinals import Ordinals

T = TypeVar("T", bound=Hashable)


class StageText(msgspec.Struct, frozen=True):
    """A stage's text as pairs: `runs` is first line in the table and count of lines, `marks` is place in `sets` and
    count of lines, over the same lines."""

    runs: list[int]
    marks: list[int]


class Stages(msgspec.Struct, frozen=True):
    """See the module's docstring. `lines` is the table; `sets` are the ordinals that a line may stand for, null where
    it holds no op. `text_of` has of each pass the place of its text in `texts`, -1 where the page has none.
    `commands` are what goes on from each pass, as its file says."""

    lines: str
    sets: list[list[int] | None]
    texts: list[StageText]
    text_of: list[int]
    commands: list[str]


@dataclass(slots=True)
class _Numbered(Generic[T]):
    """Things, each of which has the number of its first appearance."""

    numbers: dict[T, int] = field(default_factory=dict)

    def runs(self, things: Iterable[T], *, consecutive: bool) -> list[int]:
        """Things as pairs of number and count, where the next number (or else the same one) goes on with a pair."""
        found: list[int] = []
        expected = -1
        for thing in things:
            number = self.numbers.setdefault(thing, len(self.numbers))
            if number == expected:
                found[-1] += 1
            else:
                found += [number, 1]
            expected = number + 1 if consecutive else number
        return found


def pack_stages(links: Links, owner: str) -> Stages:
    """The stages of "graphs/NAME" or "kernels/NAME"."""
    passes = links.record.passes.get(owner, ())
    lines, sets = _Numbered[str](), _Numbered[Ordinals]()
    texts: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    text_of: list[int] = []
    for of in passes:
        if of.changed or not text_of:
            kept = _without_locations(links, of)
            runs = lines.runs((line for line, _ in kept), consecutive=True)
            marks = sets.runs((ordinals for _, ordinals in kept), consecutive=False)
            text_of.append(texts.setdefault((tuple(runs), tuple(marks)), len(texts)))
        else:
            text_of.append(text_of[-1])
    return Stages(
        "\n".join(lines.numbers),
        [None if ordinals is None else list(ordinals) for ordinals in sets.numbers],
        [StageText(list(runs), list(marks)) for runs, marks in texts],
        text_of,
        [_command(links.record.folder / owner / of.file) for of in passes],
    )


def _without_locations(links: Links, of: schema.Pass) -> list[tuple[str, Ordinals]]:
    lines = lines_without_locations(links.record.text(of).rstrip("\n"), language_of(of.file))
    return [(line, marked) for line, marked in zip(lines, links.lines(of), strict=False) if line is not None]


def _command(path: Path) -> str:
    """What goes on from a stage's file, in its folder: the comment at its head says it."""
    comment = COMMENTS.get(path.suffix, "//") + " go on: "
    with path.open() as file:
        for line in file:
            if line.startswith(comment):
                return line.removeprefix(comment).rstrip()
            if not line.startswith(comment[:1]):
                break
    return ""
