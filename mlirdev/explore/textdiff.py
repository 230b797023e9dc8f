"""Two texts compared line by line, and in lines that were changed word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_CONTEXT = 3
# Above so many lines, lines that are frequent no longer serve as anchors: else the time grows with the square.
_MANY_LINES = 2000
# Lines that share less than this are two lines, not one that was changed.
_ALIKE = 0.4
_WORD = re.compile(r"[\w.%@#$]+|\s+|.")


@dataclass(frozen=True)
class Line:
    """A line of a hunk. `mark` is "-" (of A alone), "+" (of B alone) or " "; `changed` are the stretches of characters,
    end excluded, in which it differs from its counterpart."""

    mark: str
    text: str
    changed: list[tuple[int, int]]


@dataclass(frozen=True)
class Hunk:
    """Changed lines with the lines around them; the numbers of its first lines are from 1."""

    a_start: int
    a_count: int
    b_start: int
    b_count: int
    lines: list[Line]


@dataclass(frozen=True)
class TextDiff:
    """How text B differs from A; without hunks, they are equal."""

    a: str
    b: str
    hunks: list[Hunk]

    @property
    def equal(self) -> bool:
        return not self.hunks


def compare(a_name: str, a: str, b_name: str, b: str) -> TextDiff:
    """How b differs from a; the names are kept for the heads."""
    before, after = a.splitlines(), b.splitlines()
    if before == after:
        return TextDiff(a_name, b_name, [])
    matcher = SequenceMatcher(None, before, after, autojunk=max(len(before), len(after)) > _MANY_LINES)
    hunks = [_hunk(before, after, group) for group in matcher.get_grouped_opcodes(_CONTEXT)]
    return TextDiff(a_name, b_name, hunks)


def unified(diff: TextDiff) -> str:
    """As `diff -u` prints it; nothing where the texts are equal."""
    if diff.equal:
        return ""
    lines = [f"--- {diff.a}", f"+++ {diff.b}"]
    for hunk in diff.hunks:
        lines.append(head(hunk))
        lines += [line.mark + line.text for line in hunk.lines]
    return "\n".join(lines) + "\n"


def head(hunk: Hunk) -> str:
    """A hunk's head, as `diff -u` writes it."""
    return f"@@ -{_range(hunk.a_start, hunk.a_count)} +{_range(hunk.b_start, hunk.b_count)} @@"


def _range(start: int, count: int) -> str:
    # Of no lines, the number is that of the line before.
    return str(start) if count == 1 else f"{start if count else start - 1},{count}"


def _hunk(a: Sequence[str], b: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]) -> Hunk:
    lines: list[Line] = []
    for tag, a_from, a_to, b_from, b_to in group:
        if tag == "equal":
            lines += [Line(" ", text, []) for text in a[a_from:a_to]]
        else:
            lines += _changed(a[a_from:a_to], b[b_from:b_to])
    a_first, a_last, b_first, b_last = group[0][1], group[-1][2], group[0][3], group[-1][4]
    return Hunk(a_first + 1, a_last - a_first, b_first + 1, b_last - b_first, lines)


def _changed(a: Sequence[str], b: Sequence[str]) -> list[Line]:
    """Lines that give way to others. The k-th of one side is compared with the k-th of the other."""
    removed = [Line("-", text, []) for text in a]
    added = [Line("+", text, []) for text in b]
    for i, (before, after) in enumerate(zip(a, b, strict=False)):
        words_before, words_after = _WORD.findall(before), _WORD.findall(after)
        matcher = SequenceMatcher(None, words_before, words_after, autojunk=False)
        if matcher.ratio() < _ALIKE:
            continue
        opcodes = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
        removed[i] = Line("-", before, list(_stretches(words_before, [(o[1], o[2]) for o in opcodes])))
        added[i] = Line("+", after, list(_stretches(words_after, [(o[3], o[4]) for o in opcodes])))
    return [*removed, *added]


def _stretches(words: Sequence[str], changed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Stretches of words as stretches of characters."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    for first, last in changed:
        if first < last:
            yield starts[first], starts[last]
