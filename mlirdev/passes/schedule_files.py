"""Transform-dialect files, by name."""

from __future__ import annotations

from pathlib import Path

from mlirdev.errors import OptionError
from mlirdev.passes.registry import FOLDER, nearest

SCHEDULES = FOLDER / "schedules"


def find_schedule(name: str, beside: Path = SCHEDULES) -> Path:
    """The transform-dialect file of this name: beside a pipeline, in schedules/, or a path as given."""
    for path in (beside / name, SCHEDULES / name, Path(name)):
        if path.exists():
            return path
    known = sorted(p.name for p in SCHEDULES.glob("*.mlir"))
    raise OptionError(f"no transform file '{name}'{nearest(name, known)}; built in: {', '.join(known)}")
