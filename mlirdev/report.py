"""A Report: sections with a table or with paragraphs, printed in a terminal or shown inline in a notebook."""

from __future__ import annotations

import html
import io
import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A titled table; with no columns, each row is a paragraph whose parts are lines."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Report:
    """What `metrics.report()` and `explain()` return: `print` it, or leave it as a notebook cell's last value."""

    sections: tuple[Section, ...]

    def __str__(self) -> str:
        # rich takes longer to load than all the rest of `import mlirdev`, so it waits until something is printed.
        from rich.console import Console

        out = io.StringIO()
        console = Console(file=out, width=min(shutil.get_terminal_size((120, 40)).columns, 140))
        for section in self.sections:
            _print_section(console, section)
        return out.getvalue().rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(map(_section_html, self.sections))


def _print_section(console: object, section: Section) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    assert isinstance(console, Console)
    if not section.columns:
        console.print(Text(section.title, style="bold"))
        for row in section.rows:
            # Whole lines: a command or a path that is broken can't be copied.
            console.print(Text("  " + "\n    ".join(row)), soft_wrap=True)
        return
    table = Table(title=section.title, title_justify="left", title_style="bold")
    for column in section.columns:
        table.add_column(column, justify="right" if column in ("value", "times") else "left")
    for row in section.rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _section_html(section: Section) -> str:
    title = f"<h4>{html.escape(section.title)}</h4>"
    if not section.columns:
        return title + "".join(f"<p>{'<br>'.join(map(html.escape, row))}</p>" for row in section.rows)
    head = "".join(f"<th>{html.escape(column)}</th>" for column in section.columns)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows)
    return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
