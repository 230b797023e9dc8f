"""The command line: `mlirdev COMMAND …`, also `python -m mlirdev`.

A command is a module in commands/, imported when it is called; its attribute `command` is a click command. Exit codes:
0 all is well, 1 what was asked for failed, 2 the command line, an option or a file that it names is wrong, 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import sys

import click

from mlirdev.errors import MlirdevError, OptionError

# The commands in the order in which `mlirdev --help` shows them.
COMMANDS = ("run", "show", "diff", "opt", "compile", "bisect", "reduce", "repro", "target", "env", "doctor")


class Commands(click.Group):
    """A group that imports a command only when it is called or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"mlirdev.commands.{cmd_name}").command
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mlirdev")
def cli() -> None:
    """A PyTorch device that records, compiles through MLIR, and shows every step."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run())


def run(args: list[str] | None = None) -> int:
    """Run the command line on `args` (the process's own by default); its exit code."""
    try:
        result = cli.main(args, prog_name="mlirdev", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Abort:
        return 130
    except MlirdevError as error:
        click.echo(f"mlirdev: {error}", err=True)
        return 2 if isinstance(error, OptionError) else 1
    return result if isinstance(result, int) else 0
