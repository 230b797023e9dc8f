"""What `mlirdev show` prints: a View has its data, for --json, and parts to read.

On a terminal tables have rules and colours and fit its width. Elsewhere everything is plain and whole: one row a line,
nothing cut off, nothing wrapped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

# Columns with these names hold sentences, which may be wrapped; the others hold numbers and names.
_WIDE = frozenset({"line", "lines", "reason", "remedy", "note", "text", "kernels", "delta", "why", "marks"})
# How narrow such a column may become, and the space between two columns.
_NARROW, _GAP = 20, 3


@dataclass(frozen=True)
class Table:
    """Rows under a title. Columns named in `left` are set left, the others right, as numbers are."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Prose:
    """Lines under a title, which may be empty. Never wrapped: a command that is broken can't be copied."""

    title: str
    lines: Sequence[str]
    style: str = ""


@dataclass(frozen=True)
class Code:
    """Text in the language of `file`'s suffix."""

    text: str
    file: str


@dataclass(frozen=True)
class Styled:
    """Text that a terminal shows in another form: lines of pieces, each with a style of rich's."""

    text: str
    lines: Sequence[Sequence[tuple[str, str]]]


Part: TypeAlias = Table | Prose | Code | Styled


@dataclass(frozen=True)
class View:
    """`data` is what `--json` prints: dataclasses, structs, lists and dicts of them."""

    data: Any
    parts: Sequence[Part] = field(default_factory=tuple)


def print_view(view: View, as_json: bool, out: TextIO | None = None) -> None:
    """Print a view on the standard output."""
    out = out or sys.stdout
    if as_json:
        out.write(msgspec.json.format(msgspec.json.encode(view.data), indent=2).decode() + "\n")
        return
    if out.isatty():
        _print_coloured(view.parts, out)
    else:
        out.write(plain(view.parts))


def plain(parts: Iterable[Part]) -> str:
    """The parts as plain text, an empty line between them."""
    return "\n".join(_plain(part) for part in parts)


def _plain(part: Part) -> str:
    if isinstance(part, Code | Styled):
        return part.text.rstrip("\n") + "\n"
    if isinstance(part, Prose):
        return "".join(f"{line}\n" for line in ([part.title] if part.title else []) + list(part.lines))
    return _plain_table(part)


def _plain_table(table: Table) -> str:
    cells = [list(table.columns), *(list(row) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [table.title] if table.title else []
    for row in cells:
        aligned = (
            cell.ljust(width) if name in table.left else cell.rjust(width)
            for cell, width, name in zip(row, widths, table.columns, strict=True)
        )
        lines.append("  ".join(aligned).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _print_coloured(parts: Iterable[Part], out: TextIO) -> None:
    # rich takes longer to load than a record to read, so it waits until it is needed.
    from rich.console import Console

    console = Console(file=out)
    for number, part in enumerate(parts):
        if number:
            console.print()
        if isinstance(part, Table):
            console.print(_rich_table(part, console.width), crop=False)
        elif isinstance(part, Prose):
            _print_prose(console, part)
        elif isinstance(part, Styled):
            _print_styled(console, part)
        else:
            _print_code(console, part)


def _print_prose(console: Console, prose: Prose) -> None:
    from rich.text import Text

    if prose.title:
        console.print(Text(prose.title, style="bold"))
    for line in prose.lines:
        console.print(Text(line, style=prose.style), soft_wrap=True)


def _least_width(table: Table) -> int:
    """The width of a table whose sentences are wrapped as far as may be."""
    columns = zip(*[table.columns, *table.rows], strict=True)
    widths = [max(map(len, cells)) for cells in columns]
    return sum(
        min(width, _NARROW) + _GAP if name in _WIDE else width + _GAP
        for name, width in zip(table.columns, widths, strict=True)
    )


def _print_styled(console: Console, styled: Styled) -> None:
    from rich.text import Text

    for line in styled.lines:
        console.print(Text.assemble(*line), soft_wrap=True)


def _print_code(console: Console, code: Code) -> None:
    from rich.syntax import Syntax

    from mlirdev.explore.highlight import lexer_of

    text = code.text.rstrip("\n")
    # As text, since a Syntax cuts lines off at the terminal's width.
    console.print(
        Syntax(text, lexer_of(code.file), theme="ansi_dark", background_color="default").highlight(text), soft_wrap=True
    )


def _rich_table(table: Table, terminal: int) -> RichTable:
    """The table, sentences wrapped to the terminal's width; names and numbers stay whole, though it be too narrow."""
    from rich import box
    from rich import table as rich
    from rich.text import Text

    rich_table = rich.Table(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    rich_table.pad_edge = False
    rich_table.width = _least_width(table) if _least_width(table) > terminal else None
    for name in table.columns:
        rich_table.add_column(name, justify="left" if name in table.left else "right", no_wrap=name not in _WIDE)
    for row in table.rows:
        rich_table.add_row(*(Text(cell, overflow="fold") for cell in row))
    return rich_table
