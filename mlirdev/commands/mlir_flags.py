"""The flags of `mlirdev opt` that are mlir-opt's own, as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mlirdev.commands.watching import Printed

if TYPE_CHECKING:
    from mlirdev.passes.texts import Form

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class MlirFlags:
    """What mlir-opt calls these, each with `mlir_` before it but for the first two."""

    split_input_file: bool
    allow_unregistered_dialect: bool
    print_debuginfo: bool
    print_op_generic: bool
    print_local_scope: bool
    elide_elementsattrs_if_larger: int | None
    print_ir_before: tuple[str, ...]
    print_ir_before_all: bool
    print_ir_after: tuple[str, ...]
    print_ir_after_all: bool
    print_ir_after_change: bool
    print_ir_tree_dir: str | None
    timing: bool

    @property
    def form(self) -> Form:
        """How text is read and printed."""
        from mlirdev.passes.texts import Form

        return Form(
            debuginfo=self.print_debuginfo,
            op_generic=self.print_op_generic,
            local_scope=self.print_local_scope,
            elide_elements_above=self.elide_elementsattrs_if_larger,
            allow_unregistered_dialect=self.allow_unregistered_dialect,
        )

    @property
    def printed(self) -> Printed:
        """Which passes the IR is printed before and after."""
        return Printed(
            before=_names(self.print_ir_before),
            before_all=self.print_ir_before_all,
            after=_names(self.print_ir_after),
            after_all=self.print_ir_after_all,
            after_change=self.print_ir_after_change,
        )


def flags_of(values: dict[str, Any]) -> MlirFlags:
    """The flags from click's values by name."""
    return MlirFlags(**{name.removeprefix("mlir_"): value for name, value in values.items()})


def _names(given: tuple[str, ...]) -> frozenset[str]:
    """Names that may be given one by one, or several with commas between them."""
    return frozenset(name.strip() for names in given for name in names.split(","))


_FLAGS = (
    click.option("--split-input-file", is_flag=True, help="Take the pieces between lines `// -----` one by one."),
    click.option("--allow-unregistered-dialect", is_flag=True, help="Take ops of dialects that aren't known."),
    click.option("--mlir-print-debuginfo", is_flag=True, help="Print locations."),
    click.option("--mlir-print-op-generic", is_flag=True, help="Print ops in the generic form."),
    click.option("--mlir-print-local-scope", is_flag=True, help="Print without aliases."),
    click.option(
        "--mlir-elide-elementsattrs-if-larger",
        type=click.IntRange(0),
        metavar="N",
        help="Shorten constants of more than N elements.",
    ),
    click.option(
        "--mlir-print-ir-before",
        multiple=True,
        metavar="PASS",
        help="Print the IR before this pass, on the standard error.",
    ),
    click.option("--mlir-print-ir-before-all", is_flag=True, help="The same before each pass."),
    click.option(
        "--mlir-print-ir-after",
        multiple=True,
        metavar="PASS",
        help="Print the IR after this pass, on the standard error.",
    ),
    click.option("--mlir-print-ir-after-all", is_flag=True, help="The same after each pass."),
    click.option("--mlir-print-ir-after-change", is_flag=True, help="The same after each pass that changed it."),
    click.option("--mlir-print-ir-tree-dir", metavar="DIR", help="Write a numbered file per pass into this folder."),
    click.option("--mlir-timing", is_flag=True, help="Print each pass's time, on the standard error."),
)


def mlir_flags(function: Function) -> Function:
    """Decorator: a command that takes mlir-opt's flags."""
    for flag in reversed(_FLAGS):
        function = flag(function)
    return function
