"""`mlirdev show` on a small record: what each view says, as text and as JSON, and what wrong names get."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import msgspec
import pytest

from mlirdev import schema
from mlirdev.cli import run
from mlirdev.commands.show import command
from mlirdev.explore.record import load_record
from mlirdev.explore.view import print_view
from mlirdev.explore.views import kernels, overview, passes
from mlirdev.explore.views.schemas import TYPES
from tests.explore.records import HEADER, LL, write_record

WHATS = (
    ("summary",), ("graphs",), ("graph", "g_1"), ("runs",), ("kernels",), ("kernel", "row-b"), ("launches",),
    ("passes", "row-b"), ("pass", "row-b", "2"), ("search", "addf"), ("failures",), ("syncs",), ("fallbacks",),
    ("timeline",), ("memory",), ("source",), ("lines", "train.py:5"), ("page",),
)  # fmt: skip


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(write_record(tmp_path / "out"))


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert run(["show", *args]) == 0
    return capsys.readouterr().out


def shown_json(capsys: pytest.CaptureFixture[str], *args: str) -> object:
    return json.loads(shown(capsys, *args, "--json"))


@pytest.mark.parametrize("what", WHATS, ids=lambda what: what[0])
def test_every_view_is_text_and_json(out: str, what: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, out, *what)
    assert text.strip()
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert shown_json(capsys, out, *what)


def test_json_may_be_asked_for_first_and_without_what(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(shown(capsys, "--json", out, "kernels")) == shown_json(capsys, out, "kernels")
    assert shown_json(capsys, out) == shown_json(capsys, out, "summary")


def test_the_page_is_written_anew(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(out, "report.html")
    assert not file.exists()
    assert shown(capsys, out, "page") == f"{file}\n"
    assert "failed to legalize" not in file.read_text()  # packed
    assert file.read_text().startswith("<!doctype html>")


def test_the_summary_begins_with_failures_and_has_every_section(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, out)
    assert text.startswith("FAILED: pass convert-vector-to-llvm")
    assert f"cd {out}/kernels/row-c && mlirdev opt 000-kernel-input.mlir" in text
    for said in (
        "train.py --steps 2", "utilisation", "recompiles", "Where time went", "sizes: 16 is now 32",
        "train.py:8  item", "train.py:6  aten.unique", "contraction-a",
    ):  # fmt: skip
        assert said in text
    assert text == shown(capsys, out, "summary")


def test_a_graph_says_who_computes_each_node(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    detail = shown_json(capsys, out, "graph", "g_1")
    assert isinstance(detail, dict)
    assert [node["kernels"] for node in detail["nodes"]] == [["contraction-a"], ["row-b"], ["row-b"], ["row-b"]]
    assert detail["nodes"][1]["lines"] == ["train.py:5"]
    assert detail["facts"]["misses"] == 1


def test_launches_of_one_kernel(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    launches = shown_json(capsys, out, "launches", "row-c")
    assert isinstance(launches, list)
    assert [(launch["run"], launch["kernel"]) for launch in launches] == [(1, "row-c"), (2, "row-c")]


def test_passes_can_be_chosen(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "canonicalize" in shown(capsys, out, "passes", "row-b")
    assert "canonicalize" not in shown(capsys, out, "passes", "row-b", "--changed")
    text = shown(capsys, out, "passes", "kernels/row-b", "--filter", "loops$|scf")
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["2"]
    assert "-1 linalg.generic" in text


def test_ops_of_other_languages_are_not_compared(out: str) -> None:
    table = passes.passes(load_record(Path(out)), "row-b").data
    assert [bool(step.delta) for step in table] == [False, False, True, False, False]


def test_a_pass_is_its_ir_alone(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, out, "pass", "row-b", "3") == LL
    assert 'loc("n1")' in shown(capsys, out, "pass", "row-b", "0")
    assert "loc(" not in shown(capsys, out, "pass", "row-b", "0", "--hide-locations")


def test_source_shares_a_launch_among_its_lines(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = msgspec.json.decode(shown(capsys, out, "source", "--json"), type=TYPES["source"])
    seconds = {line.line: line.seconds for line in file.lines if line.seconds}
    assert seconds == pytest.approx({4: 0.003, 5: 3 * 0.0005 * 2 / 3, 8: 3 * 0.0005 / 3})
    assert file.seconds == pytest.approx(0.0045)
    assert "3.00 ms         3      2 4     h = x @ w" in shown(capsys, out, "source", "train.py")


def test_a_line_is_followed_to_its_instructions(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = msgspec.json.decode(shown(capsys, out, "lines", "train.py:5", "--json"), type=TYPES["lines"])
    assert {(node.graph, node.node) for node in line.nodes} == {("g_1", 1), ("g_1", 2), ("g_2", 1), ("g_2", 2)}
    assert {kernel for node in line.nodes for kernel in node.kernels} == {"row-b", "row-c"}
    assert [launch.kernel for launch in line.launches] == ["row-b", "row-c", "row-c"]
    loops = next(stage for stage in line.stages if (stage.kernel, stage.number) == ("row-b", 2))
    assert [text.split()[2] for text in loops.texts if "=" in text] == ["memref.load", "arith.addf"]
    assert "arith.addf" in shown(capsys, out, "lines", "train.py:5")


def test_search_says_where(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, out, "search", r"scf\.for %i")
    assert "kernels/row-b 2 linalg-to-loops{form=scf}:6: scf.for" in text
    assert len(text.splitlines()) == 3
    assert "is in no pass" in shown(capsys, out, "search", "nosuchthing")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("kernel", "row"), "may be row-b, row-c"),
        (("kernel", "rwo-b"), "did you mean 'row-b'"),
        (("graph", "h"), "there are: g_1, g_2"),
        (("passes", "graphs/g"), "may be graphs/g_1, graphs/g_2"),
        (("pass", "row-b", "9"), "its passes are 0 to 4"),
        (("search", "(("), "no regular expression"),
        (("lines", "train.py"), "isn't FILE:LINE"),
        (("lines", "trian.py:5"), "did you mean 'train.py'"),
        (("lines", "train.py:1"), "lines near it that did: 4, 5, 8"),
        (("krnels",), "did you mean 'kernels'"),
    ],
)
def test_what_is_unknown(out: str, args: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", out, *args]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(tmp_path)]) == 2
    assert "mlirdev run --explore" in capsys.readouterr().err


def test_a_record_of_nothing_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / schema.RECORD_FILE).write_bytes(schema.encode(HEADER))
    for what in ("summary", "graphs", "kernels", "launches", "timeline", "memory", "failures", "syncs", "fallbacks"):
        assert shown(capsys, str(tmp_path), what).strip()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_numbers_stay_whole_on_a_narrow_terminal(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    print_view(kernels.kernels(load_record(Path(out))), False, terminal)
    said = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert re.search(r"contraction-a +3\.00 ms +66\.7 % +3 +1\.00 ms", said)
    assert "…" not in said


def test_a_terminal_gets_colours(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    record = load_record(Path(out))
    terminal = Terminal()
    print_view(overview.summary(record), False, terminal)
    print_view(passes.stage_text(record, "row-b", 0, passes.Hidden()), False, terminal)
    assert "\x1b[" in terminal.getvalue()
    assert "linalg.generic" in terminal.getvalue()


@pytest.mark.parametrize("what", WHATS, ids=lambda what: what[0])
def test_what_is_printed_is_what_the_schema_says(
    out: str, what: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = shown(capsys, out, *what, "--json")
    read = msgspec.json.decode(printed, type=TYPES[what[0]])
    assert msgspec.json.decode(msgspec.json.encode(read)) == json.loads(printed)
    assert {"$ref", "type", "anyOf"} & json.loads(shown(capsys, out, "schema", what[0])).keys()


def test_every_view_has_a_schema(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {*TYPES, "schema"} == set(command.commands)
    assert {what[0] for what in WHATS} == set(TYPES)
    assert "header" in shown(capsys, out, "schema")
    assert run(["show", out, "schema", "krnels"]) == 2
