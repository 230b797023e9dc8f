"""What a pipeline consists of, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mlirdev.dump import bare_name
from mlirdev.errors import OptionError
from mlirdev.passes.registry import (
    OptionValue,
    PassInfo,
    check_options,
    declared_options,
    find_function,
    find_pass,
    has_pass,
    installed_passes,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `kind` is pass (ours), mlir, transform or python; `text` its name, pipeline text, path or reference;
    `origin` the line of the file that asks for it."""

    kind: str
    text: str
    options: tuple[tuple[str, OptionValue], ...] = ()
    origin: str = field(default="", compare=False)

    def __str__(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.text}{{{options}}}" if options else self.text

    @property
    def name(self) -> str:
        """The pass's name alone."""
        return bare_name(self.text)

    @property
    def info(self) -> PassInfo:
        """The Python pass behind a step of kind pass or python."""
        return find_pass(self.text) if self.kind == "pass" else find_function(self.text)

    def error(self, text: str) -> OptionError:
        """What is wrong with this step, with its line."""
        return OptionError(f"{self.origin}: {text}" if self.origin else text)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps in order, and the dialects that may remain after the last; empty `legal` allows all."""

    name: str
    steps: tuple[Step, ...]
    legal: tuple[str, ...] = ()
    help: str = ""

    def after(self, done: int) -> Pipeline:
        """What is left when so many steps are done."""
        return replace(self, steps=self.steps[done:])


def make_step(kind: str, text: str, options: dict[str, OptionValue], origin: str = "") -> Step:
    """A Step, its options checked. A pass of ours isn't imported for that: a cache key is made without MLIR."""
    if kind == "pass" and text in installed_passes():
        kind, text = "python", installed_passes()[text]
    elif kind == "pass" and not has_pass(text):
        kind = "mlir"
    step = Step(kind, text, tuple(sorted(options.items())), origin)
    if options and kind not in ("pass", "python"):
        raise step.error(f"step '{kind}: {text}' takes no options here; write them as MLIR does: name{{option=value}}")
    try:
        if options:
            check_options(text, declared_options(text) if kind == "pass" else step.info.options, options)
    except OptionError as error:
        raise step.error(str(error)) from error
    return step
