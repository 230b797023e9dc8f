"""What the page is given: the stages' texts, packed, and the relation between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev import schema
from mlirdev.explore.irtext import language_of, without_locations
from mlirdev.explore.links import Links
from mlirdev.explore.page_links import PlannedLaunch, RunLinks, Way, page_links
from mlirdev.explore.page_passes import LONGEST_LINE, Passes, TextPool, passes_page
from mlirdev.explore.record import Record
from tests.explore.compiled import HEADER

GRAPH = """\
%0: 4xf32 = input
%1: 4xf32 = aten.exp.default(%0)  // n0
%2: 4xf32 = aten.alias.default(%1)  // n1
%3: 4xf32 = aten.neg.default(%2)  // n2
return %3
"""
IMPORTED = """\
// stage linalg, after pass: import
// go on: mlirdev opt 001-linalg-import.mlir --pipeline dispatch.yaml
module {
  %0 = math.exp %a : f32 loc("n0")
  %1 = arith.negf %0 : f32 loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("n2")
"""
KERNEL = """\
module {
  %0 = math.exp %a : f32 loc("n0")
  %1 = arith.negf %0 : f32 loc("n1")
}
"""
FOLDED = """\
module {
  %0 = math.exp %a : f32 loc("n0")
  %1 = math.exp %0 : f32 loc("n0")
}
"""


def write(record: Record, owner: str, *stages: tuple[str, str, str, bool]) -> None:
    """Stages of an owner: stage, pass, text, whether it changed."""
    (record.folder / owner).mkdir(parents=True)
    record.passes[owner] = []
    for index, (stage, name, text, changed) in enumerate(stages):
        file = f"{index:03d}-{stage}-{name}{'.txt' if stage == 'graph' else '.mlir'}"
        (record.folder / owner / file).write_text(text)
        record.passes[owner].append(schema.Pass(owner, index, stage, name, file, changed=changed))


@pytest.fixture
def links(tmp_path: Path) -> Links:
    """A graph of three nodes on lines 5, 6 and 6, run twice; one kernel, in which node 2 is ordinal 1."""
    record = Record(tmp_path, HEADER)
    write(record, "graphs/g", ("graph", "recorded", GRAPH, True), ("linalg", "import", IMPORTED, True))
    write(
        record,
        "kernels/k",
        ("kernel", "input", KERNEL, True),
        ("kernel", "cse", KERNEL, False),
        ("kernel", "fold", FOLDED, True),
        ("kernel", "unfold", KERNEL.replace('"n1"', '"n0"'), True),
    )
    nodes = [schema.GraphNode(f"op{k}", f"text {k}", [k], ["f32[4]"]) for k in range(3)]
    record.graphs["g"] = schema.Graph("g", [], nodes, [3], [], [schema.PlanLaunch("k", [0, 2], [0], [1])])
    record.kernels["k"] = schema.Kernel("k", "1f", "elementwise")
    places = [schema.Place("a.py", 5, "f"), schema.Place("a.py", 6, "f")]
    record.lines[7] = schema.Lines(7, "g", places, [0, 1, 1])
    record.sources.update({"a.py": "x = 1\n", "b.py": ""})
    for number in (3, 4):
        record.runs[number] = schema.Run(number, "g", "value", number == 4, 7, float(number))
    record.launches.append(schema.Launch(3, 0, 0, 3.5, 0.25))
    return Links(record)


def unpacked(passes: Passes, text: int) -> list[tuple[str, list[int] | None]]:
    """A text's lines and what they stand for."""
    ranges, repeats = (zip(*[iter(pairs)] * 2, strict=True) for pairs in (passes.texts[text], passes.marks[text]))
    lines = [line for start, count in ranges for line in passes.lines[start : start + count]]
    return list(zip(lines, [passes.sets[place] for place, count in repeats for _ in range(count)], strict=True))


def test_a_text_is_its_lines_and_what_they_stand_for(links: Links):
    passes = passes_page(links, "kernels/k", 10_000)
    assert passes.lines == [
        "module {",
        "  %0 = math.exp %a : f32",
        "  %1 = arith.negf %0 : f32",
        "}",
        "  %1 = math.exp %0 : f32",
    ]
    assert passes.sets == [[], [0], [1]]
    assert passes.text_of == [0, 0, 1, 2]
    assert passes.texts == [[0, 4], [0, 2, 4, 1, 3, 1], [0, 4]]
    assert passes.marks == [[0, 1, 1, 1, 2, 1, 0, 1], [0, 1, 1, 2, 0, 1], [0, 1, 1, 2, 0, 1]]


def test_texts_are_those_of_the_files_without_locations(links: Links):
    for owner, found in links.record.passes.items():
        passes = passes_page(links, owner, 10_000)
        for of, text in zip(found, passes.text_of, strict=True):
            lines = "\n".join(line for line, _ in unpacked(passes, text))
            assert lines == without_locations(links.record.text(of), language_of(of.file)).rstrip("\n")


def test_commands_come_from_the_heads_of_files(links: Links):
    assert passes_page(links, "graphs/g", 10_000).commands == [
        "",
        "mlirdev opt 001-linalg-import.mlir --pipeline dispatch.yaml",
    ]


def test_ordinals_that_are_gone_say_since_when(links: Links):
    assert passes_page(links, "graphs/g", 10_000).gone == {1: 1}
    assert passes_page(links, "kernels/k", 10_000).gone == {1: 2}


def test_what_is_too_much_is_left_out_with_a_word():
    pool = TextPool(most=100)
    texts = [[("x" * 101, (1,))], [("y", None)], [("x" * 101, (1,))], [("x" * 101, (2,))]]
    assert [pool.add(text) for text in texts] == [0, -1, 0, -1]
    assert pool.cut.startswith("2 texts are left out")


def test_a_long_line_is_cut_with_a_word():
    pool = TextPool(most=1_000_000)
    pool.add([("x" * (LONGEST_LINE + 5), None)])
    assert next(iter(pool.lines)).endswith("… 5 more characters")
    assert "1 lines are cut" in pool.cut


def test_the_relation_as_data(links: Links):
    data = page_links(links)
    assert [(place.file, place.line, place.function) for place in data.places] == [("a.py", 5, "f"), ("a.py", 6, "f")]
    assert data.ways == [Way(7, "g", [0, 1, 1])]
    assert data.graphs["g"].nodes == ["text 0", "text 1", "text 2"]
    assert data.graphs["g"].launches == [PlannedLaunch("k", [0, 2])]
    assert data.graphs["g"].fates == {1: "folded away by import (linalg)"}
    assert data.runs == [RunLinks(3, "g", 7, "value", 3.0, [0.25]), RunLinks(4, "g", 7, "value", 4.0, [None])]


def test_a_launch_gives_its_time_to_the_lines_of_its_nodes(links: Links):
    assert [place.seconds for place in page_links(links).places] == [0.125, 0.125]
