"""`mlirdev show OUT …`: the record of `mlirdev run --explore OUT`, in the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mlirdev.commands.groups import NearestGroup

if TYPE_CHECKING:
    from mlirdev.explore.record import Record
    from mlirdev.explore.view import View

Function = TypeVar("Function", bound=Callable[..., None])
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class Shown(NearestGroup):
    """What can be shown, in the order of this file."""

    default = "summary"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(name="show", cls=Shown, invoke_without_command=True, subcommand_metavar="[WHAT] [NAME]…")
@click.argument("out", type=click.Path(path_type=Path))
@as_json
@click.pass_context
def command(ctx: click.Context, out: Path, as_json: bool) -> None:
    """Show what `mlirdev run --explore OUT` has recorded: the summary, or WHAT.

    Names may be shortened to what is unique. Tables are plain and whole where the output is no terminal. The keys that
    --json prints are described by `mlirdev show OUT schema WHAT`.

    \b
        mlirdev show OUT                             the run in short
        mlirdev show OUT kernels                     every kernel: time, work, bound
        mlirdev show OUT passes row-5d               the passes of a kernel
        mlirdev show OUT pass row-5d 12              the IR after one
        mlirdev show OUT lines train.py:42           what became of a line
    """
    ctx.obj = out, as_json
    if ctx.invoked_subcommand is None:
        ctx.invoke(summary, as_json=as_json)


def _show(ctx: click.Context, as_json: bool, view: Callable[[Record], View]) -> None:
    """Load the record and print the view of it."""
    from mlirdev.explore.record import load_record
    from mlirdev.explore.view import print_view

    out, json_for_all = ctx.obj
    print_view(view(load_record(out)), as_json or json_for_all)


@command.command()
@as_json
@click.pass_context
def summary(ctx: click.Context, as_json: bool) -> None:
    """What ran, six key figures, where time went, compiles and why, waits, ops on the CPU."""
    from mlirdev.explore.views import overview

    _show(ctx, as_json, overview.summary)


@command.command()
@as_json
@click.pass_context
def failures(ctx: click.Context, as_json: bool) -> None:
    """Passes and compiles that failed: op, message, how to go on."""
    from mlirdev.explore.views import overview

    _show(ctx, as_json, overview.failures)


@command.command()
@as_json
@click.pass_context
def syncs(ctx: click.Context, as_json: bool) -> None:
    """Waits for the device, by line, with remedies."""
    from mlirdev.explore.views import overview

    _show(ctx, as_json, overview.syncs)


@command.command()
@as_json
@click.pass_context
def fallbacks(ctx: click.Context, as_json: bool) -> None:
    """Ops that ran on the CPU, by line, with remedies."""
    from mlirdev.explore.views import overview

    _show(ctx, as_json, overview.fallbacks)


@command.command()
@as_json
@click.pass_context
def graphs(ctx: click.Context, as_json: bool) -> None:
    """Every graph: runs, hits, and why it was compiled."""
    from mlirdev.explore.views import graphs

    _show(ctx, as_json, graphs.graphs)


@command.command()
@click.argument("name")
@as_json
@click.pass_context
def graph(ctx: click.Context, name: str, as_json: bool) -> None:
    """One graph: nodes with line and kernel, plan, memory."""
    from mlirdev.explore.views import graphs

    _show(ctx, as_json, lambda record: graphs.graph(record, name))


@command.command()
@as_json
@click.pass_context
def runs(ctx: click.Context, as_json: bool) -> None:
    """Every launch of a graph: its cause and line."""
    from mlirdev.explore.views import graphs

    _show(ctx, as_json, graphs.runs)


@command.command()
@as_json
@click.pass_context
def kernels(ctx: click.Context, as_json: bool) -> None:
    """Every kernel: time, launches, flops, bytes, bound."""
    from mlirdev.explore.views import kernels

    _show(ctx, as_json, kernels.kernels)


@command.command()
@click.argument("name")
@as_json
@click.pass_context
def kernel(ctx: click.Context, name: str, as_json: bool) -> None:
    """One kernel: signature, lines, graphs."""
    from mlirdev.explore.views import kernels

    _show(ctx, as_json, lambda record: kernels.kernel(record, name))


@command.command()
@click.argument("kernel", required=False, default="")
@as_json
@click.pass_context
def launches(ctx: click.Context, kernel: str, as_json: bool) -> None:
    """Every launch, or those of KERNEL."""
    from mlirdev.explore.views import kernels

    _show(ctx, as_json, lambda record: kernels.launches(record, kernel))


@command.command()
@click.argument("owner")
@click.option("--changed", is_flag=True, help="Leave out passes that changed nothing.")
@click.option("--filter", "pattern", default="", metavar="REGEX", help="Only passes whose name has it.")
@as_json
@click.pass_context
def passes(ctx: click.Context, owner: str, changed: bool, pattern: str, as_json: bool) -> None:
    """The passes of a graph or kernel: time, changes, ops."""
    from mlirdev.explore.views import passes

    _show(ctx, as_json, lambda record: passes.passes(record, owner, changed, pattern))


@command.command(name="pass")
@click.argument("owner")
@click.argument("number", type=click.IntRange(0))
@click.option("--hide-locations", is_flag=True, help="Leave out locations and debug information.")
@click.option("--hide-attributes", is_flag=True, help="Leave out attributes.")
@as_json
@click.pass_context
def pass_(
    ctx: click.Context, owner: str, number: int, hide_locations: bool, hide_attributes: bool, as_json: bool
) -> None:
    """The IR after pass NUMBER of a graph or kernel."""
    from mlirdev.explore.irtext import Hidden
    from mlirdev.explore.views import passes

    hidden = Hidden(hide_locations, hide_attributes)
    _show(ctx, as_json, lambda record: passes.stage_text(record, owner, number, hidden))


@command.command()
@click.argument("regex")
@as_json
@click.pass_context
def search(ctx: click.Context, regex: str, as_json: bool) -> None:
    """The lines of IR, after any pass, that have REGEX."""
    from mlirdev.explore.views import passes

    _show(ctx, as_json, lambda record: passes.search(record, regex))


@command.command()
@as_json
@click.pass_context
def timeline(ctx: click.Context, as_json: bool) -> None:
    """Host, streams and copies beside each other."""
    from mlirdev.explore.views import timeline

    _show(ctx, as_json, timeline.timeline)


@command.command()
@as_json
@click.pass_context
def memory(ctx: click.Context, as_json: bool) -> None:
    """The device's memory over time."""
    from mlirdev.explore.views import timeline

    _show(ctx, as_json, timeline.memory)


@command.command()
@click.argument("file", required=False, default="")
@as_json
@click.pass_context
def source(ctx: click.Context, file: str, as_json: bool) -> None:
    """The program's lines with their time, or those of FILE."""
    from mlirdev.explore.views import source

    _show(ctx, as_json, lambda record: source.source(record, file))


@command.command()
@click.argument("line", metavar="FILE:LINE")
@as_json
@click.pass_context
def lines(ctx: click.Context, line: str, as_json: bool) -> None:
    """A line's nodes, kernels, LLVM and assembly, launches."""
    from mlirdev.explore.views import source

    _show(ctx, as_json, lambda record: source.lines(record, line))


@command.command()
@as_json
@click.pass_context
def page(ctx: click.Context, as_json: bool) -> None:
    """Write OUT/report.html anew, as after a program that was killed, and say where it is."""
    from mlirdev.explore.report import write_report
    from mlirdev.explore.view import Prose, View, print_view

    out, json_for_all = ctx.obj
    file = str(write_report(out))
    print_view(View({"page": file}, [Prose("", (file,))]), as_json or json_for_all)


@command.command()
@click.argument("what", required=False, default="record")
def schema(what: str) -> None:
    """The JSON Schema of what WHAT --json prints, else of the record's lines."""
    from mlirdev.explore.names import resolve
    from mlirdev.explore.views.schemas import TYPES, schema_of

    click.echo(json.dumps(schema_of(resolve("view", what, ("record", *TYPES))), indent=2))
