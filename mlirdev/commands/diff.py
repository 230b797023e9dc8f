"""`mlirdev diff A B`: two stages, two records, two pipelines, a graph and the one that it was compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlirdev.commands.stages import read_text
from mlirdev.errors import MlirdevError, OptionError

if TYPE_CHECKING:
    from mlirdev.explore.irtext import Hidden
    from mlirdev.explore.view import View

EQUAL, DIFFERENT, TROUBLE = 0, 1, 2


@click.command(name="diff")
@click.argument("names", nargs=-1, required=True, metavar="A B")
@click.option("--pipeline", "pipelines", is_flag=True, help="A and B are pipelines: names or YAML files.")
@click.option("--nearest", is_flag=True, help="A is a record and B a graph: compare it with its nearest cached one.")
@click.option("--hide-locations", is_flag=True, help="Leave out locations and debug information.")
@click.option("--hide-attributes", is_flag=True, help="Leave out attributes.")
@click.option("--hide-names", is_flag=True, help="Number values anew, so that what they are called is no difference.")
@click.option("--target", help="With --pipeline: the target that passes see, a built-in name or a YAML file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    names: tuple[str, ...],
    pipelines: bool,
    nearest: bool,
    hide_locations: bool,
    hide_attributes: bool,
    hide_names: bool,
    target: str | None,
    as_json: bool,
) -> int:
    """Compare A with B. The exit code is diff's: 0 they are equal, 1 they differ, 2 something is wrong.

    \b
        mlirdev diff a.mlir b.mlir                   two files
        mlirdev diff OUT:row-5d:3 OUT:row-5d:4       two stages of a record, by the number of the pass
        mlirdev diff OUT1 OUT2                       two records: graphs, kernels, passes, IR; times for information
        mlirdev diff --pipeline kernel mine.yaml     two pipelines, step by step
        mlirdev diff --pipeline kernel mine.yaml FILE    and the IR of FILE after each
        mlirdev diff OUT GRAPH --nearest             a graph and the cached one it was compared with

    Files and stages may be mixed; - is the standard input. On a terminal the words that changed are marked.
    """
    from mlirdev.explore.irtext import Hidden
    from mlirdev.explore.view import print_view

    hidden = Hidden(hide_locations, hide_attributes, hide_names)
    try:
        if pipelines:
            from mlirdev.commands.pipelines import compare_pipelines

            view, equal = compare_pipelines(names, hidden, target)
        else:
            view, equal = _compared(names, nearest, hidden)
    except OptionError:
        raise
    except MlirdevError as error:  # a pass failed: trouble, where 1 would say that there is a difference
        click.echo(f"mlirdev: {error}", err=True)
        return TROUBLE
    print_view(view, as_json)
    return EQUAL if equal else DIFFERENT


def _compared(names: tuple[str, ...], nearest: bool, hidden: Hidden) -> tuple[View, bool]:
    if len(names) != 2:
        raise click.UsageError(f"give two things to compare; {len(names)} given")
    a, b = names
    if nearest:
        return _nearest(Path(a), b)
    if Path(a).is_dir() or Path(b).is_dir():
        return _records(Path(a), Path(b))
    return _texts(a, b, hidden)


def _texts(a: str, b: str, hidden: Hidden) -> tuple[View, bool]:
    from mlirdev.explore.irtext import language_of, normalized
    from mlirdev.explore.textdiff import compare
    from mlirdev.explore.views.differences import text_view

    ours, theirs = read_text(a), read_text(b)
    texts = [normalized(of.text, language_of(of.file), hidden) for of in (ours, theirs)]
    diff = compare(a, texts[0], b, texts[1])
    return text_view(diff), diff.equal


def _records(a: Path, b: Path) -> tuple[View, bool]:
    from mlirdev.explore.record import load_record
    from mlirdev.explore.recorddiff import compare_records
    from mlirdev.explore.views.differences import record_view

    diff = compare_records(load_record(a), load_record(b))
    return record_view(diff), diff.equal


def _nearest(out: Path, given: str) -> tuple[View, bool]:
    from mlirdev.explore.graphtext import graph_text
    from mlirdev.explore.names import resolve_graph
    from mlirdev.explore.record import load_record
    from mlirdev.explore.textdiff import compare
    from mlirdev.explore.views.differences import NearestDiff, nearest_view

    record = load_record(out)
    graph = record.graphs[resolve_graph(record, given)]
    if not graph.nearest:
        raise OptionError(f"{graph.name} was compared with no graph: {graph.reason or 'it was the first'}")
    if graph.nearest not in record.graphs:
        raise OptionError(f"{graph.name} was compared with {graph.nearest}, which isn't in the record")
    other = record.graphs[graph.nearest]
    diff = compare(other.name, graph_text(other), graph.name, graph_text(graph))
    return nearest_view(NearestDiff(graph.name, other.name, graph.reason, diff)), diff.equal
