"""The lines that a difference needs, and the script that shows it."""

from __future__ import annotations

from tests.lazy.programs.beside import DifferenceError, replay

SCRIPT = '''"""{message}

Run from the project's root: PYTHONPATH=. python THIS_FILE
"""

from mlirdev.options import options
from tests.lazy.programs.beside import replay

LINES = """
{lines}
"""

with options.override(mode={mode!r}, compile={compile!r}):
    replay(LINES.strip().splitlines())
'''


def difference(lines: list[str]) -> DifferenceError | None:
    try:
        replay(lines)
    except DifferenceError as found:
        return found
    return None


def shrink(lines: list[str], kind: str) -> list[str]:
    """As few of these lines as still give a difference of this kind: halves are tried first, then single lines."""
    size = len(lines) // 2
    while size:
        place = 0
        while place < len(lines):
            fewer = lines[:place] + lines[place + size :]
            found = difference(fewer)
            if found is not None and found.kind == kind:
                lines = found.lines
            else:
                place += size
        size //= 2
    return lines


def script(lines: list[str], message: str, mode: str, compile: str) -> str:
    """A Python script that raises the difference."""
    return SCRIPT.format(lines="\n".join(lines), message=message, mode=mode, compile=compile)
