"""Make ordinal locations survive to LLVM: loc("n3") becomes line 4 of the file `kernel`, for debug lines and `.loc`.

LLVM knows only files and lines, and takes line 0 for none, so ordinal k is line k + 1.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.assert_to_error_word import find_ordinal
from mlirdev.passes.ops import walk
from mlirdev.plan import LINES_FILE
from mlirdev.target import Target

NAME = "number-lines"


def run(module: ir.Module, target: Target) -> None:
    lines: dict[Any, Any] = {}
    for op in walk(module):
        location = op.location
        if location not in lines:
            lines[location] = _line(find_ordinal(location))
        op.location = lines[location]


def _line(ordinal: int | None) -> Any:
    return ir.Location.file(LINES_FILE, 0 if ordinal is None else ordinal + 1, 0)
