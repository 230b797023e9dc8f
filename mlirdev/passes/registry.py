"""The passes of ours, found by name: pass `fold-zero-pads` is the file `fold_zero_pads.py` beside this one.

A pass file holds

    \"\"\"One line of help.\"\"\"
    NAME = "fold-zero-pads"
    def run(module: ir.Module, target: Target, *, rows: int = 1) -> None: ...

The keyword-only parameters of `run` are the pass's options, each with a default. `run` takes valid IR and leaves valid
IR; it changes the module in place and keeps no handle to an operation. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from mlirdev.errors import OptionError
from mlirdev.nearest import closest

FOLDER = Path(__file__).parent
PassFunction: TypeAlias = Callable[..., None]
OptionValue: TypeAlias = "bool | int | float | str"


@dataclass(frozen=True)
class PassInfo:
    """A pass of ours as data; `options` are names with their defaults."""

    name: str
    help: str
    options: dict[str, OptionValue] = field(default_factory=dict)
    run: PassFunction = field(default=lambda module, target: None, repr=False)


def has_pass(name: str) -> bool:
    """Whether a pass of ours has this name."""
    return name in pass_names()


@lru_cache
def pass_names() -> tuple[str, ...]:
    """The names of all passes of ours, without importing any."""
    marked = (p.stem for p in sorted(FOLDER.glob("*.py")) if "\nNAME = " in p.read_text())
    return tuple(stem.replace("_", "-") for stem in marked)


def installed_passes() -> Mapping[str, str]:
    """The passes that other packages bring, entry points of the group "mlirdev.passes": "package.module:function" by
    name."""
    return _installed_passes()


@lru_cache
def _installed_passes() -> dict[str, str]:
    return {point.name: point.value for point in metadata.entry_points(group="mlirdev.passes")}


@lru_cache
def find_pass(name: str) -> PassInfo:
    """The pass of ours with this name. Raises OptionError for an unknown one."""
    if not has_pass(name):
        raise OptionError(f"no pass '{name}'{nearest(name, pass_names())}; `mlirdev opt --list` shows all")
    module = importlib.import_module(f"mlirdev.passes.{name.replace('-', '_')}")
    if name != module.NAME:
        raise OptionError(f"{module.__file__} is named '{module.NAME}', but its file name says '{name}'")
    return describe(name, module, module.run)


def find_function(reference: str) -> PassInfo:
    """A pass given as "package.module:function". Raises OptionError where it can't be imported."""
    module_name, _, function_name = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
        function = getattr(module, function_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(
            f"pass '{reference}' can't be imported: {error}; it is written package.module:function"
        ) from error
    return describe(reference, function, function)


def describe(name: str, documented: ModuleType | Callable[..., Any], function: PassFunction) -> PassInfo:
    """Read help and options off a pass's source."""
    help_line = (inspect.getdoc(documented) or "").partition("\n")[0]
    parameters = inspect.signature(function).parameters.values()
    options = {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return PassInfo(name, help_line, options, function)


def list_passes() -> tuple[PassInfo, ...]:
    """All passes of ours, in order of name."""
    return tuple(map(find_pass, pass_names()))


@lru_cache
def declared_options(name: str) -> dict[str, OptionValue]:
    """The options of a pass of ours with their defaults, read off its source: a cache key is made without MLIR."""
    if not has_pass(name):
        return find_pass(name).options  # raises, with the nearest name
    tree = ast.parse((FOLDER / f"{name.replace('-', '_')}.py").read_text())
    run = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run")
    defaults = zip(run.args.kwonlyargs, run.args.kw_defaults, strict=True)
    return {argument.arg: ast.literal_eval(default) for argument, default in defaults if default is not None}


def check_options(name: str, known: Mapping[str, OptionValue], options: Mapping[str, OptionValue]) -> None:
    """Raise OptionError for an option that pass `name` doesn't have, or of the wrong type."""
    for option, value in options.items():
        if option not in known:
            names = ", ".join(known) or "none"
            raise OptionError(f"pass '{name}' has no option '{option}'{nearest(option, known)}; its options: {names}")
        wanted = type(known[option])
        if type(value) is not wanted:
            raise OptionError(f"option '{option}' of pass '{name}' takes {wanted.__name__}, not {value!r}")


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean …?", or nothing."""
    close = closest(name, known, cutoff=0.5)
    return f"; did you mean '{close}'?" if close else ""
