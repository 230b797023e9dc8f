"""Reading and writing the files that commands name; - is the standard input or output."""

from __future__ import annotations

import sys
from pathlib import Path

from mlirdev.errors import OptionError


def read_input(name: str) -> str:
    """The text of a file. Raises OptionError if it can't be read."""
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't text"
        raise OptionError(f"{name} can't be read: {reason}; give a text file, or - for the standard input") from error


def write_output(name: str, content: str | bytes) -> None:
    """Write a text, ended by a newline, or bytes."""
    data = content if isinstance(content, bytes) else (content.rstrip("\n") + "\n").encode()
    if name == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        raise OptionError(f"{name} can't be written: {error.strerror}") from error
