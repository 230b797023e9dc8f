"""A script run until something of it fails: the reproducer that it leaves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click

from mlirdev.errors import OptionError
from mlirdev.options import options

# What a program's standard error says where a kernel is wrong or couldn't be compiled.
_REPRODUCER = re.compile(r"mlirdev (?:bisect|repro) (\S+)")


def failing_part(script: Path, args: tuple[str, ...]) -> Path | None:
    """Run a script, each kernel checked, until one is wrong: the reproducer written, of that or of the first compile
    that failed. None if there is none. Raises OptionError for a script that fails for a reason of its own."""
    environment = {**os.environ, "MLIRDEV_VERIFY": "error", "MLIRDEV_TARGET": options.target}
    if options.pipeline:
        environment["MLIRDEV_PIPELINE"] = options.pipeline
    command = [sys.executable, "-m", "mlirdev", "run", str(script), *args]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment)
    match = _REPRODUCER.search(done.stderr)
    if match is not None:
        line = next(line for line in done.stderr.splitlines() if match[0] in line)
        click.echo(line.strip(), err=True)
        return Path(match[1])
    if done.returncode:
        click.echo(done.stderr, err=True, nl=False)
        raise OptionError(f"{script} ended with exit code {done.returncode}, and not because a kernel is wrong")
    return None
