"""The record's lines and their reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev import schema
from mlirdev.errors import OptionError
from mlirdev.explore.record import load_record

HEADER = schema.Header(schema.VERSION, ["a.py"], "2026-01-01T00:00:00Z", {}, {}, {})
GRAPH = schema.Graph(
    "g_1",
    ["f32[2]"],
    [schema.GraphNode("aten.neg.default", "n0 = aten.neg.default(v0)", [0], ["f32[2]"])],
    [1],
    [schema.PlanSlot("f32[2]", "input", 8), schema.PlanSlot("f32[2]", "output", 8)],
    [schema.PlanLaunch("row-1", [0], [0], [1])],
)


def write(folder: Path, *lines: schema.AnyLine, tail: bytes = b"") -> Path:
    (folder / schema.RECORD_FILE).write_bytes(b"".join(map(schema.encode, lines)) + tail)
    return folder


def test_what_is_written_is_read(tmp_path: Path) -> None:
    place = schema.Place("a.py", 3, "main")
    lines = schema.Lines(0, "g_1", [place], [0])
    run = schema.Run(0, "g_1", "value", False, 0, 0.5, where=place)
    launch = schema.Launch(0, 0, 0, 0.6, 0.1)
    owner = tmp_path / "kernels" / "row-1"
    owner.mkdir(parents=True)
    step = schema.Pass("kernels/row-1", 0, "kernel", "input", "000-kernel-input.mlir", ops={"func.func": 1})
    (owner / schema.PASSES_FILE).write_bytes(schema.encode(step))
    (owner / step.file).write_text("// stage kernel\n// go on: here\nmodule {\n}\n")
    record = load_record(write(tmp_path, HEADER, GRAPH, lines, run, launch))
    assert record.graphs == {"g_1": GRAPH}
    assert record.places(launch) == [place]
    assert record.launches_of == {"row-1": [launch]}
    assert record.runs_of == {"g_1": [run]}
    assert record.passes == {"kernels/row-1": [step]}
    assert record.text(step) == "module {\n}\n"
    assert not record.is_whole


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    assert load_record(write(tmp_path, HEADER, GRAPH, tail=b'{"kind":"mem')).graphs == {"g_1": GRAPH}


def test_bad_records_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="mlirdev run --explore"):
        load_record(tmp_path)
    with pytest.raises(OptionError, match="line 2"):
        load_record(write(tmp_path, HEADER, tail=b'{"kind":"graph"}\n'))
    with pytest.raises(OptionError, match="header"):
        load_record(write(tmp_path, GRAPH))
    newer = schema.Header(schema.VERSION + 1, [], "", {}, {}, {})
    with pytest.raises(OptionError, match=f"version {schema.VERSION + 1}"):
        load_record(write(tmp_path, newer))


def test_the_schema_is_published() -> None:
    kinds = {name.lower() for name in schema.json_schema()["$defs"]}
    assert {"header", "graph", "kernel", "pass", "launch", "end"} <= kinds
