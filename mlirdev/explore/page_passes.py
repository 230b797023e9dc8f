"""The passes of a graph or kernel as the page holds them: every different line once, and what each stands for.

Most lines of a text are those of the text before, so a text is ranges of a table of lines. Locations aren't in it: what
they say is kept line by line, as ordinals (`ordinals.py`), which is what the page needs and a fraction of their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mlirdev import schema
from mlirdev.dump import COMMENTS
from mlirdev.explore.irtext import Language, dialect_mix, language_of, lines_without_locations
from mlirdev.explore.links import Links
from mlirdev.explore.ordinals import Ordinals
from mlirdev.explore.steps import Step, steps

# A longer line is a constant that nobody reads; it would only make the page slow.
LONGEST_LINE = 20_000


@dataclass(frozen=True)
class Passes:
    """An owner's passes with their texts. Step k has text `text_of[k]` (-1: left out, `cut` says why). A text is a
    list of ranges of `lines`: start, count, start, count, …, since the texts of an owner share most lines.

    `marks` says what a text's lines stand for: place in `sets`, count of lines, place, count, …; a set is null for a
    line without ops. `gone` has each ordinal of which nothing is left at the end, with the number of the first step
    without it. Of each step, `mixes` counts the ops by dialect (MLIR only), and `commands` say how to go on from its
    file."""

    steps: list[Step]
    text_of: list[int]
    texts: list[list[int]]
    lines: list[str]
    cut: str
    marks: list[list[int]]
    sets: list[list[int] | None]
    gone: dict[int, int]
    mixes: list[dict[str, int]]
    commands: list[str]


def passes_page(links: Links, owner: str, most: int) -> Passes:
    """An owner's passes, and their texts as far as `most` bytes of distinct lines allow."""
    found = links.record.passes.get(owner, [])
    pool = TextPool(most)
    # Most passes change nothing, and what they leave isn't read again.
    known: dict[str, int] = {}
    text_of = []
    for step in found:
        text = links.record.text(step)
        if text not in known:
            known[text] = pool.add(_marked(links, step, text))
        text_of.append(known[text])
    return Passes(
        steps=steps(links.record, owner),
        text_of=text_of,
        texts=pool.texts,
        lines=list(pool.lines),
        cut=pool.cut,
        marks=pool.marks,
        sets=[None if ordinals is None else list(ordinals) for ordinals in pool.sets],
        gone=_gone(links, owner),
        mixes=[_mix(step) for step in found],
        commands=[_command(links.record.folder / owner / step.file) for step in found],
    )


def _marked(links: Links, of: schema.Pass, text: str) -> list[tuple[str, Ordinals]]:
    """A pass's lines without locations, with what they stand for."""
    lines = lines_without_locations(text.removesuffix("\n"), language_of(of.file))
    return [(line, marked) for line, marked in zip(lines, links.lines(of), strict=False) if line is not None]


def _gone(links: Links, owner: str) -> dict[int, int]:
    last = len(links.stages(owner)) - 1
    return {ordinal: step + 1 for ordinal, step in links.last_seen(owner).items() if step < last}


def _mix(of: schema.Pass) -> dict[str, int]:
    return dialect_mix(of.ops) if language_of(of.file) is Language.MLIR else {}


def _command(path: Path) -> str:
    """What goes on from a stage's file, in its folder: the comment at its head says it."""
    comment = COMMENTS.get(path.suffix, "//")
    with path.open() as file:
        for line in file:
            if not line.startswith(comment):
                break
            if line.startswith(f"{comment} go on: "):
                return line.partition(" go on: ")[2].rstrip()
    return ""


class TextPool:
    """Texts, each as ranges of lines that all of them share, and its marks."""

    def __init__(self, most: int) -> None:
        self.lines: dict[str, int] = {}
        self.sets: dict[Ordinals, int] = {}
        self.texts: list[list[int]] = []
        self.marks: list[list[int]] = []
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        self._most = most
        self._nbytes = 0
        self._left_out = 0
        self._shortened = 0

    def add(self, marked: list[tuple[str, Ordinals]]) -> int:
        """The text's number, or -1 where it is left out."""
        marks = _repeats(self.sets.setdefault(ordinals, len(self.sets)) for _, ordinals in marked)
        key = "\n".join(line for line, _ in marked), tuple(marks)
        if key not in self._known:
            if self._nbytes > self._most:
                self._left_out += 1
                return -1
            self._known[key] = len(self.texts)
            self.texts.append(_ranges(self._number(line) for line, _ in marked))
            self.marks.append(marks)
        return self._known[key]

    @property
    def cut(self) -> str:
        """What isn't there, in words."""
        said = []
        if self._left_out:
            said.append(f"{self._left_out:,} texts are left out of this page, which holds {self._most:,} bytes of each")
        if self._shortened:
            said.append(f"{self._shortened:,} lines are cut after {LONGEST_LINE:,} characters")
        return "; ".join(said) + "; the files have them whole" if said else ""

    def _number(self, line: str) -> int:
        known = self.lines.get(line)
        if known is not None:
            return known
        if len(line) > LONGEST_LINE:
            line = f"{line[:LONGEST_LINE]} … {len(line) - LONGEST_LINE:,} more characters"
            self._shortened += line not in self.lines
        if line not in self.lines:
            self._nbytes += len(line)
        return self.lines.setdefault(line, len(self.lines))


def _ranges(numbers: Iterable[int]) -> list[int]:
    """Numbers as start, count, start, count, …"""
    found: list[int] = []
    following = -1
    for number in numbers:
        if number == following:
            found[-1] += 1
        else:
            found += (number, 1)
        following = number + 1
    return found


def _repeats(numbers: Iterable[int]) -> list[int]:
    """Numbers as number, count of repeats, number, count, …"""
    found: list[int] = []
    for number in numbers:
        if found and found[-2] == number:
            found[-1] += 1
        else:
            found += (number, 1)
    return found
