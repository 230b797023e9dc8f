"""MLIRDEV_OVERRIDE=folder: files edited by hand in place of what the pipeline made at their stage.

The folder is one as MLIRDEV_DUMP writes it, whole or in part:

    folder/<graph or kernel>/012-kernel-one-shot-bufferize.mlir

A dumped file's head holds a hash of the text below it, so of a whole dump only the files that were edited are taken;
a file without that line always is. A Replacer sits among the Observers of a compilation and is asked for a
`Replacement` at each stage; what it replaces it says. Whoever asks reads the text into the module
(`put_in_place` for MLIR) and checks that it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mlirdev.dump import FileNames, is_as_dumped
from mlirdev.errors import OptionError
from mlirdev.events import ComingPass
from mlirdev.nearest import closest

Read = TypeVar("Read")

# What pipelines never read back: the program made the first, and a plan goes with its kernels.
_FIXED = {"graph": "the graph is what the program recorded", "plan": "a plan follows from its graph's IR"}
_PLACE = re.compile(r'(?:"-"|<string>|<inline asm>|-):(\d+):(\d+): (?:error: )?(.*)')
# The functions that later stages call, whose types must stay.
_ENTRIES = ("main", "kernel")


def edited_files(folder: Path) -> dict[str, tuple[str, ...]]:
    """The edited files of an override folder: the name of each graph or kernel, and its files in order."""
    if not folder.is_dir():
        raise OptionError(f"--override (MLIRDEV_OVERRIDE): there is no folder {folder}")
    found: dict[str, tuple[str, ...]] = {}
    for inside in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = (path for path in sorted(inside.glob("[0-9][0-9][0-9]-*")) if path.suffix != ".yaml")
        edited = tuple(path.name for path in files if not is_as_dumped(path.read_text()))
        if edited:
            found[inside.name] = edited
    return found


def covers(name: str, graph: str) -> bool:
    """Whether the folder `name` is of this graph, of a part of it ("g_1.0"), or of one of its kernels."""
    return name == graph or name.startswith((f"{graph}-", f"{graph}."))


def nearest(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that nothing has."""
    close = closest(name, known, cutoff=0.3)
    return f"; the nearest is {close}" if close else ""


@dataclass(frozen=True)
class Replacement:
    """A file's text, to be used in place of a stage's result."""

    path: Path
    text: str

    def read(self, parse: Callable[[str], Read]) -> Read:
        """What `parse` makes of the text; what it raises becomes an OptionError with the file's line."""
        try:
            return parse(self.text)
        except Exception as error:
            place = _PLACE.search(str(error))
            where = f"{self.path}:{place[1]}:{place[2]}: {place[3]}" if place else f"{self.path}: {error}"
            raise OptionError(where) from error

    def refuse(self, reason: str) -> OptionError:
        return OptionError(f"{self.path}: {reason}")


class Replacer:
    """An Observer of one compilation that offers the edited `files` of `folder`, and tells `say` which it gave."""

    def __init__(self, folder: Path, files: tuple[str, ...], say: Callable[[str], None]) -> None:
        self._folder = folder
        self._left = dict.fromkeys(files)
        self._say = say
        self._names = FileNames()
        self._seen: list[str] = []
        self.used: list[Path] = []

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        self._pass(stage, "input")

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self._pass(stage, pass_name)

    def replacement(self, stage: str, pass_name: str) -> Replacement | None:
        """What to use in place of this stage's result; asked for before the result is shown."""
        file = self._names.coming(stage, pass_name)
        if file not in self._left:
            return None
        del self._left[file]
        path = self._folder / file
        text = path.read_text()
        if "__elided__" in text:
            raise OptionError(f"{path}: its large constants were shortened when it was dumped, so it can't be used")
        self.used.append(path)
        self._say(f"{self._folder.name}: the result of {stage}/{pass_name} is replaced by {path}")
        return Replacement(path, text)

    def finish(self) -> None:
        """Raise OptionError for files that no stage asked for."""
        for file in self._left:
            fixed = _FIXED.get(file.split("-")[1])
            why = f"it can't be replaced: {fixed}" if fixed else "no stage is called so"
            raise OptionError(f"{self._folder / file}: {why}{nearest(file, self._seen)}")

    def blame(self, error: Exception) -> Exception:
        """The error of a compilation in which files were used: whatever went wrong, they may be why."""
        if not self.used:
            return error
        files = ", ".join(map(str, self.used))
        return OptionError(f"with {files} in place of what the pipeline made: {type(error).__name__}: {error}")

    def _pass(self, stage: str, pass_name: str) -> None:
        file = self._names.take(stage, pass_name)
        if stage not in _FIXED:
            self._seen.append(file)


def put_in_place(module: Any, found: Replacement | None) -> None:
    """Let an MLIR module be what a file says, if there is one. Raises OptionError for text that doesn't parse or isn't
    valid, and where the function that is called has other types or an attribute that is needed is gone."""
    if found is None:
        return
    with module.context:
        new = found.read(_parser(type(module)))
        _check_fits(module, new, found)
        for op in list(module.body.operations):
            op.operation.erase()
        for op in list(new.body.operations):
            module.body.append(op.operation)
        for attribute in list(new.operation.attributes):
            name = attribute if isinstance(attribute, str) else attribute.name
            module.operation.attributes[name] = new.operation.attributes[name]


def _parser(module_type: Any) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        module = module_type.parse(text)
        module.operation.verify()
        return module

    return parse


def _check_fits(module: Any, new: Any, found: Replacement) -> None:
    functions = _functions(new)
    for name, old in _functions(module).items():
        if name not in _ENTRIES:
            continue
        if name not in functions:
            raise found.refuse(f"it defines no @{name}")
        was, now = (str(op.attributes["function_type"]) for op in (old, functions[name]))
        if was != now:
            raise found.refuse(f"@{name} is {now}, but here it must be {was}")
    missing = _attributes(module.operation) - _attributes(new.operation)
    if missing:
        raise found.refuse(f"the module lacks the attributes {', '.join(sorted(missing))}, which later stages read")


def _functions(module: Any) -> dict[str, Any]:
    ops = [op.operation for op in module.body.operations]
    return {str(op.attributes["sym_name"]).strip('"'): op for op in ops if op.name in ("func.func", "llvm.func")}


def _attributes(operation: Any) -> set[str]:
    return {a if isinstance(a, str) else a.name for a in operation.attributes}


def died(error: Exception, folder: Path, files: tuple[str, ...]) -> OptionError:
    """The error where compiling with these files failed for good, or ended its worker."""
    return OptionError(f"with {', '.join(str(folder / f) for f in files)} in place of what the pipeline made: {error}")
