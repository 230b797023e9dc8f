"""MLIR's diagnostics about a text, told as a compiler tells them: FILE:LINE:COLUMN."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from mlirdev.errors import OptionError, PassError

# The place in a text that has no name of its own, in a parser's message and in a pass's.
_PARSED = re.compile(r'^ *(\w+): "-":(\d+):(\d+): ', re.MULTILINE)
_LOCATED = re.compile(r'loc\("-":(\d+):(\d+)\)')


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in the errors that come out. What doesn't parse is the file's fault: an OptionError."""
    name = "<stdin>" if file == "-" else file
    try:
        yield
    except PassError as error:
        said = _LOCATED.sub(
            rf"{_escaped(name)}:\1:\2", _PARSED.sub(rf"{_escaped(name)}:\2:\3: \1: ", error.diagnostics)
        )
        if error.pass_name == "parse":
            lines = [line for line in said.splitlines() if line != "Unable to parse module assembly:"]
            raise OptionError("\n".join(lines)) from error
        raise PassError(error.stage, error.pass_name, said) from error


def _escaped(name: str) -> str:
    """A name that is to stand in a regular expression's replacement."""
    return name.replace("\\", r"\\")
