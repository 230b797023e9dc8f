"""A record is made of what a program does, and is the same whether kernels were compiled or found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

import mlirdev
from mlirdev import compiler, schema
from mlirdev.errors import OptionError
from mlirdev.explore import recorder, recording
from mlirdev.explore.record import Record, load_record
from mlirdev.explore.text import record_text


def program(rows: int) -> float:
    x = torch.linspace(-1, 1, rows * 6).reshape(rows, 6).to("mlirdev")
    y = (x @ x.T).relu()
    return float(y.sum())


def recorded(folder: Path) -> Record:
    """The record of this program, run in this process."""
    with mlirdev.options.override(explore=str(folder), quiet=True):
        for rows in (7, 7):
            program(rows)
    return load_record(folder)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return recorded(tmp_path_factory.mktemp("record") / "out")


def names(record: Record) -> list[str]:
    """The files of a record."""
    return sorted(str(path.relative_to(record.folder)) for path in record.folder.rglob("*"))


def test_runs_have_their_graph_and_lines(record: Record) -> None:
    assert [run.number for run in record.runs.values()] == [0, 1]
    assert record.runs[1].hit
    (graph,) = record.graphs.values()
    ops = [node.op for node in graph.nodes]
    assert {"aten.mm.default", "aten.relu.default", "aten.sum.default"} <= set(ops)
    lines = record.lines[record.runs[0].lines]
    place = lines.places[lines.file_lines[ops.index("aten.mm.default")]]
    assert (Path(place.file).name, place.function) == (Path(__file__).name, "program")
    assert "y = (x @ x.T).relu()" in record.sources[place.file].splitlines()[place.line - 1]
    (run, _) = record.runs.values()
    assert run.where is not None
    assert run.where.line == place.line + 1


def test_a_known_graph_with_new_sizes_is_a_hit(tmp_path: Path) -> None:
    with mlirdev.options.override(explore=str(tmp_path / "out"), quiet=True):
        for rows in (3, 4, 5):
            x = torch.arange(float(rows)).to("mlirdev")
            (x * 5 + 3).cpu()
    record = load_record(tmp_path / "out")
    assert [run.hit for run in record.runs.values()] == [False, False, True]
    assert list(record.runs.values())[2].syms == [5]


def test_launches_have_time_threads_and_addresses(record: Record) -> None:
    (graph,) = record.graphs.values()
    assert [(launch.run, launch.index) for launch in record.launches] == [
        (run, index) for run in (0, 1) for index in range(len(graph.launches))
    ]
    for launch in record.launches:
        planned = record.planned(launch)
        assert len(launch.addresses) == len(planned.reads) + len(planned.writes)
        assert all(address % 4 == 0 and address for address in launch.addresses)
        assert launch.seconds > 0
        assert launch.threads >= 1
        assert record.runs[launch.run].at <= launch.at


def test_every_pass_of_graph_and_kernels_is_there(record: Record) -> None:
    (graph,) = record.graphs.values()
    assert list(record.passes) == [f"graphs/{graph.name}", *sorted(f"kernels/{name}" for name in record.kernels)]
    for name in record.kernels:
        passes = record.passes[f"kernels/{name}"]
        assert (passes[0].name, passes[-1].stage) == ("input", "asm")
        assert {"kernel", "llvm", "ll", "asm"} == {p.stage for p in passes}
        assert all(record.text(p) for p in passes)
        assert all(p.ops for p in passes)
        assert any(not p.changed for p in passes)
    (contraction,) = (kernel for kernel in record.kernels.values() if kernel.type == "contraction")
    assert record.passes[f"kernels/{contraction.name}"][0].ops["linalg.matmul"] == 1


def test_copies_memory_and_waits_are_there(record: Record) -> None:
    assert [copy.way for copy in record.copies] == ["h2d", "d2h"] * 2
    assert all(copy.where and copy.where.function == "program" for copy in record.copies)
    assert [sync.cause for sync in record.syncs] == ["item", "item"]
    assert max(memory.allocated for memory in record.memory) >= 7 * 6 * 4
    assert record.end is not None
    assert record.end.recording_s > 0


def test_work_is_counted_and_the_header_knows_the_peaks(record: Record) -> None:
    (contraction,) = (kernel for kernel in record.kernels.values() if kernel.type == "contraction")
    assert contraction.flops >= 2 * 7 * 7 * 6
    assert contraction.nbytes >= 4 * (7 * 6 + 7 * 7)
    assert (record.header.peak_gflops, record.header.peak_gbps) == (100.0, 10.0)


def test_the_trace_has_runs_launches_passes_copies_and_memory(record: Record) -> None:
    events = json.loads((record.folder / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {span["cat"] for span in spans} == {"record", "launch", "pass", "kernel", "copy", "wait"}
    assert sum(span["cat"] == "kernel" for span in spans) == len(record.launches)
    assert {event["id"] for event in events if event["ph"] == "f"} == {0, 1}
    assert any(event["ph"] == "C" for event in events)
    tracks = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(span["pid"], span["tid"]) for span in spans} == tracks
    assert all(span["ts"] >= 0 and span["dur"] >= 0 for span in spans)


def test_a_second_record_has_the_same_files_and_reads_from_the_cache(record: Record, tmp_path: Path) -> None:
    again = recorded(tmp_path / "out")
    assert names(again) == names(record)
    assert all(kernel.from_cache and not kernel.differs for kernel in again.kernels.values())
    assert set(again.graphs) == set(record.graphs)
    for owner, passes in record.passes.items():
        assert [(p.stage, p.name, p.file, p.changed, p.ops) for p in again.passes[owner]] == [
            (p.stage, p.name, p.file, p.changed, p.ops) for p in passes
        ]
        assert [again.text(p) for p in again.passes[owner]] == [record.text(p) for p in passes]

    assert record_text(recorded(tmp_path / "third")) == record_text(again)


def test_as_text_it_is_for_golden_files(record: Record) -> None:
    (graph,) = record.graphs.values()
    text = record_text(record, passes=False)
    assert text.startswith(f"graph {graph.name}: f32[7,6] at {Path(__file__).name}:")
    assert all(f" at {Path(__file__).name}:" in line for line in text.splitlines() if "  // n" in line and "%" in line)
    assert "copy 2 × h2d 168 bytes" in text
    assert "wait 2 × item" in text
    assert str(record.folder) not in text
    assert "kernel/linalg-to-loops" in record_text(record)


def test_a_former_record_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "kernels" / "old").mkdir(parents=True)
    (folder / schema.RECORD_FILE).write_bytes(b"")
    (folder / "kernels" / "old" / "000-kernel-input.mlir").write_text("")
    (folder / "kernels" / "old" / "notes").write_text("mine")
    (folder / "report.html").write_text("")
    recorded(folder)
    assert [path.name for path in (folder / "kernels" / "old").iterdir()] == ["notes"]
    assert not (folder / "report.html").exists() or (folder / "report.html").stat().st_size


@pytest.mark.parametrize("what", ["a folder", "a file"])
def test_other_folders_are_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(OptionError, match="give an empty folder" if what == "a folder" else "is a file"):
        recording.start(str(tmp_path if what == "a folder" else path))
    assert path.read_text() == "mine"
    assert recording.finish() is None


def test_a_process_that_never_uses_the_device_leaves_nothing(tmp_path: Path) -> None:
    with mlirdev.options.override(explore=str(tmp_path / "out")):
        torch.ones(2) + 1
    assert not os.listdir(tmp_path)


def test_a_graph_with_ops_on_the_cpu_is_in_parts(tmp_path: Path) -> None:
    """The first attempt, which found out what has no lowering, isn't in the record."""

    def program() -> float:
        x = torch.linspace(-1, 1, 9).reshape(3, 3).to("mlirdev")
        return float((torch.linalg.eigvals(x * 2 + 1).real * 3).sum())

    options = {"quiet": True, "fallback": "allow", "cache_dir": str(tmp_path / "cache")}
    for name in ("a", "b"):
        compiler.forget()
        with mlirdev.options.override(explore=str(tmp_path / name), **options):
            program()
    a, b = load_record(tmp_path / "a"), load_record(tmp_path / "b")
    assert names(a) == names(b)
    (graph,) = (graph for graph in a.graphs.values() if len(graph.parts) > 1)
    assert not (a.folder / "graphs" / graph.name).exists()
    assert {f"graphs/{graph.name}.0", f"graphs/{graph.name}.1"} <= set(a.passes)
    assert any(node.host for node in graph.nodes)
    assert any(not launch.kernel for launch in graph.launches)


def test_too_many_launches_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_MAX_LAUNCHES", 1)
    record = recorded(tmp_path / "out")
    assert len(record.launches) == 1
    assert record.end is not None
    assert record.end.left_out == sum(len(record.graphs[run.graph].launches) for run in record.runs.values()) - 1


def test_one_record_at_a_time(tmp_path: Path) -> None:
    start = mlirdev.options.override(explore=str(tmp_path / "a"))
    with start, pytest.raises(OptionError, match="end it first"):
        recording.start(str(tmp_path / "b"))
