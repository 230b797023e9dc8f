"""What `torch.compile` takes for this backend: its `mode` and `options`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlirdev.errors import OptionError
from mlirdev.nearest import closest

# PyTorch's names. There is one way to compile here, and a call costs no launches by PyTorch to be reduced.
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass(frozen=True)
class Choices:
    """`freeze`: parameters and buffers keep the values that they have when compiled, and what follows from them
    alone is computed then. For inference; to change them, compile anew (`torch.compiler.reset()`)."""

    freeze: bool = False


_OPTIONS = Choices.__dataclass_fields__


def choices_of(mode: str | None = None, options: Mapping[str, Any] | None = None) -> Choices:
    """What was asked for. Raises OptionError, with the nearest name, for what isn't known."""
    if mode is not None and mode not in MODES:
        raise OptionError(f"torch.compile(mode={mode!r}): no such mode{_nearest(mode, MODES)}")
    for name, value in (options or {}).items():
        if name not in _OPTIONS:
            raise OptionError(f"torch.compile(options={{{name!r}: …}}): no such option{_nearest(name, _OPTIONS)}")
        if type(value) is not bool:
            raise OptionError(f"torch.compile(options={{{name!r}: {value!r}}}): it takes True or False")
    return Choices(**(options or {}))


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = closest(name, names, cutoff=0.5)
    return f"; did you mean {close!r}?" if close else f"; there are: {', '.join(names)}"
