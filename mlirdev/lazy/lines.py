"""Which line of the user's program records an op.

The nearest frame outside torch and mlirdev, kept as (code object, instruction), which costs two
attributes; the line's number and the function's name are looked up when somebody asks. Backward ops run on
autograd's thread, without any frame: they have the line of their forward op, by its sequence number.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import TypeAlias

import torch

from mlirdev.events import SourceLine

Where: TypeAlias = "tuple[CodeType | None, int]"

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INTERNAL_FOLDERS = (
    _OURS,
    os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep + "contextlib",
)


class _UserFiles(dict[str, bool]):
    """File name → is it the user's; filled as files are met."""

    def __missing__(self, file: str) -> bool:
        result = self[file] = not file.startswith(_INTERNAL_FOLDERS) and not file.startswith("<frozen")
        return result


is_user_file = _UserFiles()
getframe = sys._getframe


def where_of(frame: FrameType | None) -> Where:
    """The nearest place of the user's at or above `frame`."""
    while frame is not None:
        code = frame.f_code
        if is_user_file[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None, 0


def here() -> Where:
    return where_of(getframe(1))


def source_line(where: Where) -> SourceLine | None:
    """The place in words."""
    code, instruction = where
    if code is None:
        return None
    return SourceLine(code.co_filename, _line_number(code, instruction), code.co_qualname if hasattr(code, "co_qualname") else code.co_name)


def _line_number(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
