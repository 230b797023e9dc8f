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
from typing import Any, TypeAlias

import torch

from mlirdev.events import SourceLine

Where: TypeAlias = "tuple[CodeType | None, int]"

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INTERNAL = (
    _OURS,
    os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep + "contextlib",
    "<frozen",
    "<short way",  # what quick.py writes
)


class _UserFiles(dict[str, bool]):
    """File name → is it the user's; filled as files are met."""

    def __missing__(self, file: str) -> bool:
        result = self[file] = not file.startswith(_INTERNAL)
        return result


is_user_file = _UserFiles()
getframe = sys._getframe


def where_of(frame: FrameType | None) -> Where:
    """The place to blame for an op that `frame` calls: in a backward pass that of its forward op, else the
    nearest one of the user's."""
    if frame is not None and is_user_file[frame.f_code.co_filename]:
        return frame.f_code, frame.f_lasti
    node: Any = _current_node()
    if node is not None:
        found = forward.get(node._sequence_nr())
        if found is not None:
            return found[0], found[1]
        return _place_of_backward() if frame is None else _nearest(frame)
    return _nearest(frame)


def _nearest(frame: FrameType | None) -> Where:
    while frame is not None:
        code = frame.f_code
        if is_user_file[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None, 0


_current_node = torch._C._current_autograd_node
_current_backward = torch._C._current_graph_task_id
_ENGINE = torch.autograd.graph._engine_run_backward.__code__
_last_backward: list[tuple[int, Where]] = [(-1, (None, 0))]


def _place_of_backward() -> Where:
    """Where the running backward pass was called, in the thread that waits for it; found once per pass."""
    task = _current_backward()
    if _last_backward[0][0] != task:
        _last_backward[0] = task, _waiting_for_engine()
    return _last_backward[0][1]


def _waiting_for_engine() -> Where:
    for frame in sys._current_frames().values():
        above: FrameType | None = frame
        while above is not None and above.f_code is not _ENGINE:
            above = above.f_back
        if above is not None:
            return _nearest(above)
    return None, 0


# Where the op of an autograd node was recorded, by the node's sequence number, and on which stream. Numbers are
# per thread; where two threads use the same one, the later op's place is kept.
forward: dict[int, tuple[CodeType | None, int, Any]] = {}
_FORWARD_LIMIT = 1 << 17
is_grad_enabled = torch.is_grad_enabled
sequence_number = torch._C._autograd._get_sequence_nr


def note(code: CodeType | None, at: int, stream: Any) -> None:
    """Remember where the op being recorded is called: its autograd node is the last one made in this thread."""
    forward[sequence_number() - 1] = (code, at, stream)


def forget_old() -> None:
    """Keep `forward` bounded; called now and then."""
    if len(forward) > _FORWARD_LIMIT:
        for number in list(forward)[: _FORWARD_LIMIT // 2]:
            forward.pop(number, None)


def stream_of_backward() -> Any:
    """The stream of the forward op whose backward runs in this thread, or None."""
    node: Any = _current_node()
    found = None if node is None else forward.get(node._sequence_nr())
    return None if found is None else found[2]


def here() -> Where:
    return where_of(getframe(1))


# Places in words, by the identity of the code, which is kept alive: to hash it takes long.
_found: dict[tuple[int, int], tuple[CodeType, SourceLine]] = {}
_FOUND_LIMIT = 1 << 12


def source_line(where: Where) -> SourceLine | None:
    """The place in words. Loops launch from the same few places: the line is looked for once."""
    code, instruction = where
    if code is None:
        return None
    found = _found.get((id(code), instruction))
    if found is None:
        if len(_found) >= _FOUND_LIMIT:
            _found.clear()
        found = _found[id(code), instruction] = code, _source_line(code, instruction)
    return found[1]


def _source_line(code: CodeType, instruction: int) -> SourceLine:
    name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
    return SourceLine(_file_name(code.co_filename), _line_number(code, instruction), name)


def _file_name(file: str) -> str:
    """A file's name; that of a notebook's cell is the one which its user sees, "Cell In[3]"."""
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook else None
    cell = shell.compile.format_code_name(file) if shell else None
    return " ".join(cell) if cell else file


def _line_number(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
