"""Every option of mlirdev, typed, with its environment variable, in one place.

`mlirdev.options` is the one `Options` object: read from the environment at import, changed by
assignment or, for a while, by `with mlirdev.options.override(mode="eager"):`.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mlirdev.errors import OptionError
from mlirdev.nearest import closest

PREFIX = "MLIRDEV_"


LOG_KINDS = ("recompiles", "sync", "fallback", "flush", "passes")


def _option(default: Any, text: str, items: tuple[str, ...] = ()) -> Any:
    """A field with its help; `items` are what a comma-separated list may hold."""
    return field(default=default, metadata={"help": text, "items": items})


# Options whose variable is shorter: `options.override` is the method.
_SHORT = {"override_dir": "override"}

# Words of a switch that has more than two positions.
_SWITCHES = {"verify": {"0": "off", "1": "error"}}

_watchers: dict[str, list[Callable[[], None]]] = {}


def watch(name: str, watcher: Callable[[], None]) -> None:
    """Call `watcher` after each assignment to the option `name`."""
    _watchers.setdefault(name, []).append(watcher)


@dataclass
class Options:
    """Options by name; the variable of `cache_dir` is `MLIRDEV_CACHE_DIR`, and so on."""

    mode: Literal["lazy", "eager", "blocking"] = _option(
        "lazy", "when ops run: recorded (lazy), each when it is called (eager), each waited for (blocking)"
    )
    compile: Literal["workers", "inline", "reference"] = _option(
        "workers",
        "where graphs are compiled: worker processes, this process (inline), or nowhere (reference: PyTorch's CPU ops)",
    )
    workers: int = _option(0, "compile workers; 0 takes one per core")
    fallback: Literal["allow", "warn", "error"] = _option("warn", "what an op that runs on the CPU does")
    sync: Literal["allow", "warn", "error"] = _option("allow", "what an implicit wait for the device does")
    dump: str = _option("", "a folder for every graph and kernel, stage by stage")
    cache: bool = _option(True, "keep compiled kernels and plans on disk")
    cache_dir: str = _option("", "the folder of the disk cache; empty takes the user's cache folder")
    cache_size_mb: int = _option(2048, "the disk cache's limit; the oldest entries go first")
    target: str = _option("host", "the target: a built-in name or a YAML file")
    target_set: str = _option("", "what to set in the target, with commas between: memory.dram.gbps=240,clock_mhz=900")
    pipeline: str = _option(
        "", "pipelines in place of the target's: stage=NAME_OR_FILE,…; without a stage, the kernel pipeline"
    )
    vendor: str = _option(
        "", "a library to call in place of generated kernels where it fits: a built-in name (libtorch) or a YAML file"
    )
    logs: str = _option("", f"what to log, a line each, with commas between: {', '.join(LOG_KINDS)}", LOG_KINDS)
    logs_format: Literal["text", "json"] = _option("text", "what a line of the log is: words, or a JSON object")
    quiet: bool = _option(False, "print nothing about compiling")
    memory_mb: int = _option(0, "the device's memory; 0 takes the machine's")
    guard_pages: bool = _option(
        False, "end the process at a kernel's access out of bounds, or to memory that was freed; slow, for tests"
    )
    max_nodes: int = _option(8192, "soft limit on a trace's nodes")
    max_pending_mb: int = _option(4096, "soft limit on the bytes that a trace's values would take")
    compile_timeout_s: int = _option(300, "seconds after which a compile worker counts as hung")
    override_dir: str = _option("", "a folder of dumped files, edited by hand, to use in place of what the passes make")
    verify: Literal["off", "warn", "error"] = _option(
        "off", "what a kernel whose result differs from PyTorch's CPU ops does; each is checked (slow); 1 is error"
    )
    explore: str = _option("", "a folder for the record that the explorer reads")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _TYPES:
            raise OptionError(f"no option '{name}'{_nearest(name, _TYPES)}; `mlirdev env` lists them all")
        object.__setattr__(self, name, _checked(name, value))
        for watcher in _watchers.get(name, ()):
            watcher()

    @property
    def code(self) -> tuple[str, ...]:
        """The options that decide what code a graph becomes."""
        return self.target, self.target_set, self.pipeline, self.vendor, self.compile, self.override_dir

    def set_given(self, **values: Any) -> None:
        """Set those options that have a value: a command line's flags."""
        for name, value in values.items():
            if value:
                setattr(self, name, value)

    @contextlib.contextmanager
    def override(self, **values: Any) -> Iterator[None]:
        """Set options inside a `with`, then put them back."""
        before = {name: getattr(self, name) for name in values}
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


def variable(name: str) -> str:
    """The environment variable of an option."""
    return PREFIX + _SHORT.get(name, name).upper()


def option_fields() -> tuple[Field[Any], ...]:
    """The options in order, each with `metadata["help"]`."""
    return fields(Options)


def read_environment(environ: Mapping[str, str] = os.environ) -> Options:
    """Options from `MLIRDEV_*` variables. An unknown variable or a bad value warns, with the nearest name, and
    changes nothing: this runs inside `import torch`, which must not fail."""
    result = Options()
    known = {variable(f.name): f.name for f in option_fields()}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in _NOT_OPTIONS:
            continue
        if name not in known:
            warnings.warn(f"unknown variable {name}{_nearest(name, known)}; `mlirdev env` lists them all", stacklevel=2)
            continue
        try:
            setattr(result, known[name], _parse(known[name], text))
        except OptionError as error:
            warnings.warn(f"{error}; the default stays", stacklevel=2)
    return result


# Variables that are read elsewhere, before or beside the options.
_NOT_OPTIONS = frozenset({"MLIRDEV_WORKER"})


def _parse(name: str, text: str) -> Any:
    kind = _TYPES[name]
    if kind is bool:
        return text.strip().lower() not in ("", "0", "false", "off", "no")
    if kind is int:
        try:
            return int(text)
        except ValueError:
            raise OptionError(f"{variable(name)}={text!r} isn't a whole number") from None
    return _SWITCHES[name].get(text, text) if name in _SWITCHES else text


def _checked(name: str, value: Any) -> Any:
    kind = _TYPES[name]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            allowed = ", ".join(get_args(kind))
            raise OptionError(f"option '{name}' ({variable(name)}) is {value!r}; it takes one of: {allowed}")
    elif type(value) is not kind:
        raise OptionError(f"option '{name}' ({variable(name)}) takes {kind.__name__}, not {value!r}")
    for item in split_list(value) if _ITEMS.get(name) else ():
        if item not in _ITEMS[name]:
            known = dict.fromkeys(_ITEMS[name])
            raise OptionError(f"option '{name}' ({variable(name)}): no '{item}'{_nearest(item, known)}")
    return value


def split_list(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = closest(name, known, cutoff=0.5)
    return f"; did you mean {close}?" if close else ""


def origin(name: str) -> Literal["default", "environment", "program"]:
    """Where an option's present value came from."""
    if getattr(options, name) != getattr(_at_start, name):
        return "program"
    return "environment" if variable(name) in os.environ else "default"


_TYPES: dict[str, Any] = get_type_hints(Options)
_ITEMS: dict[str, tuple[str, ...]] = {f.name: f.metadata["items"] for f in option_fields()}
_at_start = read_environment()
options = replace(_at_start)
