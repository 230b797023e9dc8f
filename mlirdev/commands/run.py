"""`mlirdev run SCRIPT`: a Python program as `python SCRIPT` runs it, with options set and the metrics at its end."""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import click

from mlirdev.options import options


@click.command(name="run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--stats", is_flag=True, help="Print the metrics report at the end.")
@click.option(
    "--explain", "explain_", is_flag=True, help="Say at the end what was compiled, waited for, or run on the CPU."
)
@click.option("--json", "as_json", is_flag=True, help="Print the metrics at the end as one line of JSON.")
@click.option("--explore", help="Record the run in this folder, and make a page of it.")
@click.option("--target", help="Compile for this target: a built-in name or a YAML file.")
@click.option("--set", "target_set", multiple=True, metavar="KEY=VALUE", help="Set a value of the target.")
@click.option("--pipeline", help="Use this pipeline in place of the target's: a name or a YAML file.")
@click.option(
    "--override", metavar="DIR", help="Use the edited files of this dump folder in place of what the passes make."
)
@click.option("--mode", type=click.Choice(["lazy", "eager", "blocking"]), help="When ops run.")
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    stats: bool,
    explain_: bool,
    as_json: bool,
    explore: str | None,
    target: str | None,
    target_set: tuple[str, ...],
    pipeline: str | None,
    override: str | None,
    mode: str | None,
    script: str,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT with its ARGS. Metrics go to stderr, so that the script's own output stays as it is."""
    options.set_given(
        target=target,
        target_set=",".join(target_set),
        pipeline=pipeline,
        override_dir=override,
        mode=mode,
        explore=explore,
    )
    code, error = _run_script(script, args)
    sys.stdout.flush()
    if options.explore:
        _end_record(error)
    if stats or explain_ or as_json:
        _show(stats, explain_, as_json)
    return code or _unused_overrides()


def _unused_overrides() -> int:
    """2 where a file to be used names nothing in this program; which ones is said at the exit."""
    if not options.override_dir:
        return 0
    from mlirdev.compiler import overrides

    return 2 if overrides.unused() else 0


def _run_script(script: str, args: tuple[str, ...]) -> tuple[int, str]:
    """Run the script as __main__; its exit code, and what it raised in a line."""
    with _argv([script, *args]):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as stop:
            return _exit_code(stop), ""
        except KeyboardInterrupt:
            return 130, "KeyboardInterrupt"
        except BaseException as error:
            traceback.print_exception(type(error), error, _frames_of(script, error.__traceback__))
            return 1, f"{type(error).__name__}: {error}"
    return 0, ""


def _end_record(error: str) -> None:
    from mlirdev.explore import recording

    recording.finish(error, always=True)


@contextlib.contextmanager
def _argv(argv: list[str]) -> Iterator[None]:
    """As `python SCRIPT` would: sys.argv, and the script's folder first on the import path."""
    before, path = sys.argv, str(Path(argv[0]).resolve().parent)
    sys.argv = argv
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.argv = before
        if path in sys.path:
            sys.path.remove(path)


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def _frames_of(script: str, trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the script's first frame on, without those of this command."""
    frame = trace
    while frame and frame.tb_frame.f_code.co_filename != script:
        frame = frame.tb_next
    return frame or trace


def _show(stats: bool, explain_: bool, as_json: bool) -> None:
    from mlirdev import metrics
    from mlirdev.explain import explain

    if explain_:
        print(explain(), file=sys.stderr)
    if stats:
        print(metrics.report(), file=sys.stderr)
    if as_json:
        print(json.dumps(metrics.snapshot()), file=sys.stderr)
