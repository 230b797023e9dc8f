"""What the page is given: the stages' texts, packed, and the relation between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev import schema
from mlirdev.explore.irtext import language_of, without_locations
from mlirdev.explore.links import Links
from mlirdev.explore.page_links import PlannedLaunch, RunLinks, Way, page_links
from mlirdev.explore.page_stages import Stages, StageText, pack_stages
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


def unpacked(stages: Stages, text: StageText) -> list[tuple[str, list[int] | None]]:
    """A stage's lines and what they stand for."""
    table = stages.lines.split("\n")
    lines = [line for start, count in zip(*[iter(text.runs)] * 2, strict=True) for line in table[start : start + count]]
    marks = [stages.sets[place] for place, count in zip(*[iter(text.marks)] * 2, strict=True) for _ in range(count)]
    return list(zip(lines, marks, strict=True))


def test_a_stage_is_its_lines_and_what_they_stand_for(links: Links):
    stages = pack_stages(links, "kernels/k")
    assert stages.lines.split("\n") == [
        "module {",
        "  %0 = math.exp %a : f32",
        "  %1 = arith.negf %0 : f32",
        "}",
        "  %1 = math.exp %0 : f32",
    ]
    assert stages.sets == [[], [0], [1]]
    assert stages.text_of == [0, 0, 1, 2]
    assert stages.texts == [
        StageText([0, 4], [0, 1, 1, 1, 2, 1, 0, 1]),
        StageText([0, 2, 4, 1, 3, 1], [0, 1, 1, 2, 0, 1]),
        StageText([0, 4], [0, 1, 1, 2, 0, 1]),
    ]


def test_packed_stages_are_the_texts_without_locations(links: Links):
    for owner, passes in links.record.passes.items():
        stages = pack_stages(links, owner)
        for of, place in zip(passes, stages.text_of, strict=True):
            lines = "\n".join(line for line, _ in unpacked(stages, stages.texts[place]))
            assert lines == without_locations(links.record.text(of), language_of(of.file)).rstrip("\n")


def test_commands_come_from_the_heads_of_files(links: Links):
    assert pack_stages(links, "graphs/g").commands == [
        "",
        "mlirdev opt 001-linalg-import.mlir --pipeline dispatch.yaml",
    ]


def test_the_relation_as_data(links: Links):
    data = page_links(links)
    assert data.files == ["a.py", "b.py"]
    assert data.texts == ["x = 1\n", ""]
    assert data.places == [(0, 5, "f"), (0, 6, "f")]
    assert data.ways == [Way(7, "g", [0, 1, 1])]
    assert data.graphs["g"].nodes == ["text 0", "text 1", "text 2"]
    assert data.graphs["g"].launches == [PlannedLaunch("k", [0, 2])]
    assert data.graphs["g"].fates == {1: "folded away by import (linalg)"}
    assert data.runs == [RunLinks(3, "g", 7, "value", 3.0, [0.25]), RunLinks(4, "g", 7, "value", 4.0, [None])]


def test_a_launch_gives_its_time_to_the_lines_of_its_nodes(links: Links):
    assert page_links(links).seconds == [0.125, 0.125]


def test_ordinals_that_are_gone_say_since_when(links: Links):
    assert page_links(links).gone == {"graphs/g": {1: 1}, "kernels/k": {1: 2}}
