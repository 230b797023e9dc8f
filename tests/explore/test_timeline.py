"""The timeline's columns: what is on which lane, and when."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mlirdev import schema
from mlirdev.explore import timeline as module
from mlirdev.explore.record import Record, load_record
from mlirdev.explore.timeline import Spans, Timeline, timeline
from tests.explore import records


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return load_record(records.write_record(tmp_path))


def names(of: Timeline, spans: Spans) -> list[str]:
    return [of.names[what] for what in spans.what]


def test_the_first_run_of_a_graph_waits_until_it_is_compiled(record: Record) -> None:
    found = timeline(record, 2.0)
    assert names(found, found.compiled) == ["g_1", "g_2"]
    assert found.compiled.seconds == pytest.approx([0.2, 0.2])
    assert found.launched.at == pytest.approx([0.2, 0.7, 1.0])
    assert found.launched.seconds == pytest.approx([0.05, 0.05, 0.002])


def test_launches_have_their_kernel_run_and_line(record: Record) -> None:
    found = timeline(record, 2.0)
    assert names(found, found.launches) == ["contraction-a", "row-b", *["contraction-a", "row-c"] * 2]
    assert found.launches.run == [0, 0, 1, 1, 2, 2]
    assert [found.places[where] for where in found.launches.where[:2]] == ["train.py:4", "train.py:8"]


def test_a_stage_is_one_span_of_its_worker(record: Record) -> None:
    steps = [msgspec.structs.replace(s, worker=70 + k, at=k + s.index / 10, seconds=0.1) for k, s in _numbered(record)]
    record.passes = {"kernels/row-b": steps[:3], "kernels/row-c": steps[3:]}
    found = timeline(record, 2.0)
    assert names(found, found.lowered) == ["kernels/row-b kernel", "kernels/row-c kernel"]
    assert found.lowered.lane == [0, 1]
    assert found.lowered.at == pytest.approx([0.0, 1.0])
    assert found.lowered.seconds == pytest.approx([0.3, 0.3])


def _numbered(record: Record) -> list[tuple[int, schema.Pass]]:
    passes = [step for step in record.passes["kernels/row-b"] if step.stage == "kernel"]
    return [(k, step) for k in range(2) for step in passes]


def test_too_many_launches_are_left_out_with_a_word(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 4)
    found = timeline(record, 2.0)
    assert len(found.launches.at) == 4
    assert found.cut == "2 later launches are left out; trace.json has them all"
