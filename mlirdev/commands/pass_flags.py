"""Passes as flags: `--canonicalize --cse`, in the order in which they stand, as mlir-opt takes them."""

from __future__ import annotations

from dataclasses import dataclass

import click

from mlirdev.errors import OptionError
from mlirdev.nearest import closest

META = "mlirdev.pass_flags"


@dataclass(frozen=True)
class PassFlag:
    """`--name` or `--name=options`, the options as MLIR writes them: "a=1 b=true"."""

    name: str
    options: str = ""


class WithPassFlags(click.Command):
    """A command that takes every pass as a flag; those given are in the context's `meta`. Long options may have one
    dash, as MLIR's have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for option in self.get_params(ctx) for name in option.opts if name.startswith("-")}
        flags: list[PassFlag] = []
        rest: list[str] = []
        for arg in args:
            name, _, value = arg.lstrip("-").partition("=")
            if f"--{name}" in known:
                rest.append(f"--{arg.lstrip('-')}" if arg.startswith("-") else arg)
            elif arg[:2] in known or not arg.startswith("-") or not name:
                rest.append(arg)
            else:
                flags.append(_flag(name, value, known))
        ctx.meta[META] = tuple(flags)
        return super().parse_args(ctx, rest)


def _flag(name: str, options: str, known: set[str]) -> PassFlag:
    from mlirdev.passes.registry import installed_passes, pass_names
    from mlirdev.passes.upstream import upstream_names

    passes = {*pass_names(), *installed_passes(), *upstream_names()}
    if name in passes:
        return PassFlag(name, options.strip())
    names = [*(name.lstrip("-") for name in known), *passes]
    close = closest(name, names)
    remedy = f"did you mean '--{close}'?" if close else "`mlirdev opt --help` shows options, `--list` passes"
    raise OptionError(f"no option or pass '--{name}'; {remedy}")


def pipeline_text(flags: tuple[PassFlag, ...]) -> str:
    """The flags as the text of a pipeline on a module."""
    from mlirdev.passes.upstream import anchored, upstream_names

    texts = []
    for flag in flags:
        if flag.name in upstream_names():
            texts.append(anchored(flag.name, flag.options))
        else:
            texts.append(f"{flag.name}{{{flag.options}}}" if flag.options else flag.name)
    return f"builtin.module({','.join(texts)})"
