"""`mlirdev reduce`: a graph that fails, made small."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlirdev.commands.failing_script import failing_part
from mlirdev.errors import OptionError
from mlirdev.options import options

if TYPE_CHECKING:
    from mlirdev.explore.failing import Outcome
    from mlirdev.explore.subject import Subject


@click.command(name="reduce", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-o", "output", default="reduced", help="The folder to write: a reproducer with a script. (reduced)")
@click.option("--fails-with", metavar="TEXT", help="What the failure must say; without, any failure of the same kind.")
@click.option(
    "--script", "test", metavar="CMD", help="A test of your own: exit code 0 if its last argument still fails."
)
@click.option("--slow", type=float, default=0.0, metavar="SECONDS", help="Taking longer than this is the failure.")
@click.option("--seconds", type=float, default=300.0, help="How long to go on. (300)")
@click.option("--target", help="The target, for what names none: a built-in name or a YAML file.")
@click.option("--pipeline", help="Use this pipeline in place of the target's: a name or a YAML file.")
@click.option("-q", "--quiet", is_flag=True, help="Don't say how it goes.")
@click.argument("subject", type=click.Path(exists=True))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    output: str,
    fails_with: str | None,
    test: str | None,
    slow: float,
    seconds: float,
    target: str | None,
    pipeline: str | None,
    quiet: bool,
    subject: str,
    args: tuple[str, ...],
) -> int:
    """Find a small graph that fails as SUBJECT does: its compiler crashes or raises, or its result isn't PyTorch's.

    SUBJECT is a Python script, run with its ARGS until something fails; or a reproducer; or a folder that MLIRDEV_DUMP
    wrote for a graph; or a file of a graph's text. --script is given the path of a file of a graph's text.
    """
    options.set_given(target=target, pipeline=pipeline)
    path: Path | None = Path(subject)
    if Path(subject).suffix == ".py":
        path = failing_part(Path(subject), args)
        if path is None:
            raise OptionError(f"nothing of {subject} fails: its kernels are compiled, and right")
    assert path is not None
    return _reduce(path, Path(output), fails_with, test, slow, seconds, quiet)


def _reduce(
    path: Path, output: Path, fails_with: str | None, test: str | None, slow: float, seconds: float, quiet: bool
) -> int:
    import mlirdev.lazy.setup  # noqa: F401  (torch, for the values that are right)
    from mlirdev.compiler.chosen import chosen_target
    from mlirdev.explore.reduce import reduce
    from mlirdev.explore.subject import load_graph
    from mlirdev.graph import Graph

    whole = load_graph(path, chosen_target())
    if not isinstance(whole.what, Graph):
        raise OptionError(f"{path} is a kernel without the graph that it computes; give a graph that it is made from")
    subject, original = (whole, None) if test else _failing(whole, slow, fails_with)
    fails = _passes(shlex.split(test)) if test else _fails_like(original, fails_with, slow)
    if test and not fails(subject):
        raise OptionError(f"{test} doesn't exit with 0 for {path} as it is")
    tell: Callable[[str], None] = (lambda line: None) if quiet else (lambda line: click.echo(line, err=True))
    small = reduce(subject, fails, tell, seconds)
    _write(small, output, original, slow)
    click.echo(f"{len(whole.graph.nodes)} nodes became {len(small.graph.nodes)}:\n{small.graph}\nin {output}")
    return 0


def _failing(whole: Subject, slow: float, fails_with: str | None) -> tuple[Subject, Outcome]:
    """The part of a graph that fails, and how: where some nodes run on the CPU, the rest is in several."""
    from mlirdev.explore.bisect import host_nodes
    from mlirdev.explore.failing import outcome_of
    from mlirdev.explore.subject import native_parts

    for part, _ in native_parts(whole, host_nodes(whole)):
        outcome = outcome_of(part, slow)
        if outcome is not None and (fails_with or "") in outcome.text:
            return part, outcome
        if outcome is not None:
            raise OptionError(f"it fails, but doesn't say '{fails_with}': {outcome.text}")
    raise OptionError(f"{whole.name} doesn't fail: it is compiled and run, and its results are PyTorch's")


def _fails_like(original: Outcome | None, fails_with: str | None, slow: float) -> Callable[[Subject], bool]:
    from mlirdev.explore.failing import outcome_of

    def fails(candidate: Subject) -> bool:
        outcome = outcome_of(candidate, slow)
        if outcome is None or original is None or outcome.fails != original.fails:
            return False
        return fails_with in outcome.text if fails_with else outcome.cause == original.cause

    return fails


def _passes(test: list[str]) -> Callable[[Subject], bool]:
    def fails(candidate: Subject) -> bool:
        with tempfile.TemporaryDirectory(prefix="mlirdev-reduce-") as folder:
            file = Path(folder) / "graph.txt"
            file.write_text(f"{candidate.graph}\n")
            return subprocess.run([*test, str(file)], stdout=subprocess.DEVNULL).returncode == 0

    return fails


def _write(small: Subject, output: Path, original: Outcome | None, slow: float) -> None:
    """A reproducer of what is left, with a script where PyTorch has all its ops."""
    from mlirdev.compiler.reproducer import Reproducer, save
    from mlirdev.explore.failing import outcome_of
    from mlirdev.explore.script import is_scriptable, script_of

    outcome = (outcome_of(small, slow) or original) if original else None
    fails, text = (outcome.fails, outcome.text) if outcome else ("error", "as a test of its own says")
    kept = Reproducer(
        subject=small.graph,
        target=small.target,
        name=small.name,
        fails=fails,
        error=text,
        inputs=small.inputs,
        scalars=small.scalars,
        lines=small.lines,
    )
    save(kept, output)
    if is_scriptable(small.graph):
        (output / "run.py").write_text(script_of(small, text.splitlines()[0][:300]))
