"""Click groups whose errors name the nearest command."""

from __future__ import annotations

import click

from mlirdev.nearest import remedy


class NearestGroup(click.Group):
    """A group that says which of its commands an unknown one is like. Options in a command's place are `default`'s."""

    default = ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        names = self.list_commands(ctx)
        if self.default and name.startswith("-"):
            return super().resolve_command(ctx, [self.default, *args])
        if name in names or name.startswith("-"):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"no such command '{name}'; {remedy(name, names)}", ctx)
