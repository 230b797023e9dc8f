"""The override folder of the options, seen from the driver: which compilations it touches, and what nobody used.

A graph that it touches, itself or by one of its kernels, is compiled by itself: nothing of it is read from a cache,
kept in one, or shared with other graphs.
"""

from __future__ import annotations

import atexit
import sys
from functools import lru_cache
from pathlib import Path

from mlirdev.errors import OptionError
from mlirdev.options import options
from mlirdev.override import covers, edited_files, nearest

# The names of the graphs and kernels that were compiled, in order, and of those that had files.
_compiled: dict[str, None] = {}
_given: set[str] = set()


def touches(graph: str) -> bool:
    """Whether the folder has an edited file for this graph or one of its kernels."""
    return bool(options.override_dir) and any(covers(name, graph) for name in _edited())


def files_for(name: str) -> tuple[str, ...]:
    """The edited files of a graph or kernel that is about to be compiled."""
    if not options.override_dir:
        return ()
    _compiled[name] = None
    files = _edited().get(name, ())
    _given.update([name] if files else [])
    return files


def unused() -> list[str]:
    """A line for each file whose graph or kernel the program hasn't compiled, with the nearest name."""
    if not options.override_dir:
        return []
    missing = {name: files for name, files in _edited().items() if name not in _given}
    return [
        f"{Path(options.override_dir) / name / file}: the program compiles no graph or kernel '{name}'"
        f"{nearest(name, _compiled)}"
        for name, files in missing.items()
        for file in files
    ]


def _edited() -> dict[str, tuple[str, ...]]:
    if options.dump and Path(options.dump).resolve() == Path(options.override_dir).resolve():
        raise OptionError(
            f"dumping into {options.override_dir} would write over the files to be used; give another folder"
        )
    return _read(options.override_dir)


@lru_cache
def _read(folder: str) -> dict[str, tuple[str, ...]]:
    atexit.register(_say_unused)
    found = edited_files(Path(folder))
    if not found:
        print(f"mlirdev override: no file in {folder} was edited, so nothing is replaced", file=sys.stderr)
    return found


def _say_unused() -> None:
    for line in unused():
        print(f"mlirdev override: never used: {line}", file=sys.stderr)
