"""Differences of texts: as `diff -u` prints them, and the words that changed."""

from __future__ import annotations

import difflib
import random

import pytest

from mlirdev.explore.textdiff import Line, compare, unified


def drawn(draw: random.Random) -> str:
    return "".join(f"line {draw.randrange(6)}\n" for _ in range(draw.randrange(30)))


@pytest.mark.parametrize("seed", range(40))
def test_it_is_a_unified_diff(seed: int) -> None:
    draw = random.Random(seed)
    a, b = drawn(draw), drawn(draw)
    lines = difflib.unified_diff(a.splitlines(), b.splitlines(), "a", "b", lineterm="")
    assert unified(compare("a", a, "b", b)).splitlines() == list(lines)


def test_equal_texts_have_no_difference() -> None:
    assert compare("a", "x\n", "b", "x\n").equal
    assert unified(compare("a", "", "b", "")) == ""


def marked(line: Line) -> list[str]:
    return [line.text[first:last] for first, last in line.changed]


def test_the_words_that_changed_are_marked() -> None:
    (hunk,) = compare("a", "%1 = arith.addf %0, %0 : f32\n", "b", "%1 = arith.mulf %0, %c : f32\n").hunks
    removed, added = hunk.lines
    assert marked(removed) == ["arith.addf", "%0"]
    assert marked(added) == ["arith.mulf", "%c"]


def test_lines_that_have_little_in_common_are_not_marked() -> None:
    (hunk,) = compare("a", "module {\n", "b", "%1 = arith.mulf %0, %c : f32\n").hunks
    assert [line.changed for line in hunk.lines] == [[], []]


def test_long_texts_are_compared_in_time() -> None:
    a = "".join(f"  %{i} = llvm.load %{i % 7}\n  }}\n" for i in range(8000))
    diff = compare("a", a, "b", a.replace("%4000 =", "%new ="))
    assert [line.mark for line in diff.hunks[0].lines].count("+") == 1
