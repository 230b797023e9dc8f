"""The report: its blobs hold the record."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mlirdev.errors import OptionError
from mlirdev.explore import report
from mlirdev.explore.irtext import language_of, without_locations
from mlirdev.explore.record import load_record
from mlirdev.explore.report import write_report
from tests.explore import records


def blobs(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="text/plain" data-blob="([^"]*)">([^<]*)</script>', page)
    return {name: msgspec.json.decode(gzip.decompress(base64.b64decode(text))) for name, text in found}


def text_of(passes: dict[str, Any], step: int) -> str:
    ranges = passes["texts"][passes["text_of"][step]]
    pairs = zip(ranges[::2], ranges[1::2], strict=True)
    return "\n".join(line for start, count in pairs for line in passes["lines"][start : start + count])


def test_every_text_of_the_record_is_in_the_page_without_locations(tmp_path: Path) -> None:
    folder = records.write_record(tmp_path)
    found, record = blobs(write_report(folder).read_text()), load_record(folder)
    assert record.passes
    for owner, steps in record.passes.items():
        passes = found[f"passes/{owner}"]
        texts = [without_locations(record.text(step), language_of(step.file)).rstrip("\n") for step in steps]
        assert [text_of(passes, k) for k in range(len(steps))] == texts
        assert len(passes["texts"]) == len(set(texts))


def test_the_page_opens_with_the_summary(tmp_path: Path) -> None:
    found = blobs(write_report(records.write_record(tmp_path)).read_text())
    assert found["page"]["title"] == "train.py --steps 2"
    assert [graph["name"] for graph in found["page"]["graphs"]] == ["g_1", "g_2"]
    assert {f"graph/{name}" for name in ("g_1", "g_2")} < set(found)
    assert found["sources"] == {"train.py": records.SOURCE}


def test_a_failure_names_its_lines_and_the_ir_before(tmp_path: Path) -> None:
    (failure,) = blobs(write_report(records.write_record(tmp_path)).read_text())["page"]["failures"]
    assert failure["lines"] == ["train.py:8"]
    assert failure["before"] == 0
    assert failure["illegal"] == {"vector.gather": 2}


def test_a_kernel_that_is_in_no_plan_failed_for_nodes_on_the_cpu(tmp_path: Path) -> None:
    file = records.write_record(tmp_path) / "record.jsonl"
    last = '"results":["f32[]"],"host":'
    text = file.read_text().replace('"kernels/row-c"', '"kernels/row-d"')
    file.write_text(text.replace(f'{last}""', f"{last}\"pass 'convert-vector-to-llvm' failed\""))
    (failure,) = blobs(write_report(tmp_path).read_text())["page"]["failures"]
    assert failure["lines"] == ["train.py:8"]


def test_a_kernel_shows_all_its_places(tmp_path: Path) -> None:
    kernel = blobs(write_report(records.write_record(tmp_path)).read_text())["kernel/contraction-a"]
    assert sorted((use["graph"], use["index"], use["times"]) for use in kernel["uses"]) == [
        ("g_1", 0, 1),
        ("g_2", 0, 2),
    ]


def test_what_a_graph_differs_in(tmp_path: Path) -> None:
    graph = blobs(write_report(records.write_record(tmp_path)).read_text())["graph/g_2"]
    assert "f32[16,8]" in graph["nearest_text"]
    assert "f32[s0,8]" in graph["text"]
    assert [total["times"] for total in graph["totals"]] == [2, 2]


def test_the_page_cannot_be_broken_out_of(tmp_path: Path) -> None:
    folder = records.write_record(tmp_path)
    lines = (folder / "record.jsonl").read_text().replace('"train.py","--steps"', '"</title><script>alert(1)</script>"')
    (folder / "record.jsonl").write_text(lines)
    assert "<script>alert" not in write_report(folder).read_text()


def test_a_page_that_grows_too_large_leaves_out_what_took_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_PASSES", 1)
    found = blobs(write_report(records.write_record(tmp_path)).read_text())
    assert [owner["owner"] for owner in found["page"]["owners"]] == ["kernels/row-c"]
    assert [name for name in found if name.startswith("passes/")] == ["passes/kernels/row-c"]
    assert found["page"]["notes"][0].startswith("The passes of 4 kernels")


def test_no_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="mlirdev run --explore"):
        write_report(tmp_path)
