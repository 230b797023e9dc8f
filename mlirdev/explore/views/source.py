"""The user's Python with time per line, and what became of a line."""

from __future__ import annotations

from collections.abc import Iterator

from mlirdev.errors import OptionError
from mlirdev.explore import units
from mlirdev.explore.linefacts import LineFacts, SourceFacts, StageLines, line_facts, resolve_file, source_facts
from mlirdev.explore.record import Record
from mlirdev.explore.view import Part, Prose, Styled, Table, View

_SHOWN_LINES = 20
_SHOWN_LAUNCHES = 20


def source(record: Record, given: str = "") -> View:
    """The files of the program, or one, each line with its time, launches and nodes."""
    files = [resolve_file(record, given)] if given else list(record.sources)
    found = [source_facts(record, file) for file in files]
    nothing = Prose("", ("the record has no source text",))
    return View(found, [_file(facts) for facts in found] or [nothing])


def lines(record: Record, given: str) -> View:
    """What became of FILE:LINE."""
    file, colon, line = given.rpartition(":")
    if not colon or not line.isdecimal():
        raise OptionError(f"'{given}' isn't FILE:LINE; such as train.py:42")
    found = line_facts(record, resolve_file(record, file), int(line))
    parts: list[Part] = [_head(found), _nodes(found), *map(_stage, found.stages), *_launches(found)]
    return View(found, parts)


def _file(facts: SourceFacts) -> Styled:
    number = len(str(len(facts.lines)))
    plain = [f"{facts.file}, {units.seconds(facts.seconds)} in kernels", f"{'time':>9} {'launches':>9} {'nodes':>6}"]
    styled = [[(plain[0], "bold")], [(plain[1], "bold")]]
    for line in facts.lines:
        costs = _costs(line.seconds, line.launches, line.nodes)
        plain.append(f"{costs} {line.line:>{number}} {line.text}".rstrip())
        styled.append([(costs, "cyan"), (f" {line.line:>{number}} ", "dim"), (line.text, "")])
    return Styled("\n".join(plain) + "\n", styled)


def _costs(seconds: float, launches: int, nodes: int) -> str:
    time = units.seconds(seconds) if seconds else ""
    return f"{time:>9} {launches or '':>9} {nodes or '':>6}"


def _head(found: LineFacts) -> Prose:
    launched = units.times(len(found.launches))
    where = f"{found.file}:{found.line}, {units.seconds(found.seconds)} in kernels, launched {launched}"
    return Prose(where, [found.text.rstrip()] if found.text else [])


def _nodes(found: LineFacts) -> Table:
    rows = [(node.graph, str(node.node), node.text, ", ".join(node.kernels) or node.fate) for node in found.nodes]
    columns = ("graph", "node", "text", "kernels")
    return Table("Nodes", columns, rows, frozenset({"graph", "text", "kernels"}))


def _stage(stage: StageLines) -> Prose:
    return Prose(f"kernels/{stage.kernel} pass {stage.number}: {stage.file}", list(_cut(stage)))


def _cut(stage: StageLines) -> Iterator[str]:
    for line, text in list(zip(stage.lines, stage.texts, strict=True))[:_SHOWN_LINES]:
        yield f"  {line:>5}  {text.strip()}"
    if len(stage.lines) > _SHOWN_LINES:
        yield f"  … and {len(stage.lines) - _SHOWN_LINES} lines more; --json has them all"


def _launches(found: LineFacts) -> Iterator[Table]:
    rows = [
        (
            str(launch.run),
            str(launch.index),
            launch.kernel or f"on the CPU: {launch.op}",
            units.seconds(launch.at),
            units.seconds(launch.seconds),
        )
        for launch in found.launches[:_SHOWN_LAUNCHES]
    ]
    if rows:
        rest = (
            f", the first {_SHOWN_LAUNCHES} of {len(found.launches)}" if len(found.launches) > _SHOWN_LAUNCHES else ""
        )
        columns = ("run", "launch", "kernel", "at", "time")
        yield Table(f"Launches{rest}", columns, rows, frozenset({"kernel"}))
