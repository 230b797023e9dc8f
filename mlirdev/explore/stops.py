"""The IR of one compilation at every stop: before its first pass and after each, read from a dump's folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mlirdev.dump import bare_name
from mlirdev.errors import OptionError
from mlirdev.passes.pipeline import Step, load_pipeline
from mlirdev.plan import THREAD_WORKSPACE_BYTES, WORKSPACE_BYTES

_FILE = re.compile(r"\d{3}-([a-z]+)-(.+)\.(?:mlir|ll|s)")
_HEAD = re.compile(
    r"^(?://|;|#) stage \w+, (?:before the first pass|after pass(?: (\d+) of \d+)?: (.*))$", re.MULTILINE
)

_COMMENTS = re.compile(r"\A(?:(?://|;|#) .*\n)+")


@dataclass(frozen=True)
class Stop:
    """IR after a pass of a stage ("input": before the first). `done` are the names of all passes that it has behind it,
    `rest` the steps of its stage that it has before it."""

    path: Path
    stage: str
    pass_name: str
    text: str
    done: frozenset[str]
    rest: tuple[Step, ...]

    def __str__(self) -> str:
        if self.pass_name == "input":
            return f"as stage '{self.stage}' begins"
        return f"after pass '{self.pass_name}' of stage '{self.stage}'"

    @property
    def body(self) -> str:
        """The text without the dump's head."""
        return _COMMENTS.sub("", self.text)

    @property
    def scratch(self) -> tuple[int, int]:
        """The scratch memory that a kernel wants, in all and per thread, as far as its text says by now."""
        found = (
            re.search(rf"{re.escape(name)} = (\d+)", self.text) for name in (WORKSPACE_BYTES, THREAD_WORKSPACE_BYTES)
        )
        whole, per_thread = (int(match[1]) if match else 0 for match in found)
        return whole, per_thread


def read_stops(folder: Path) -> list[Stop]:
    """The stops of a graph's or kernel's dump, in order. Raises OptionError for a folder without any."""
    stops: list[Stop] = []
    done: set[str] = set()
    for path in sorted(folder.glob("[0-9][0-9][0-9]-*")) if folder.is_dir() else ():
        match = _FILE.fullmatch(path.name)
        if match is None:
            continue
        text = path.read_text()
        head = _HEAD.search(text)
        number, name = (head[1], head[2]) if head and head[2] else (None, match[2])
        done.add(bare_name(name))
        stops.append(Stop(path, match[1], name, text, frozenset(done), _rest(folder, match[1], number, name)))
    if not stops:
        raise OptionError(f"{folder} holds no stages, such as MLIRDEV_DUMP writes")
    return stops


def _rest(folder: Path, stage: str, number: str | None, name: str) -> tuple[Step, ...]:
    pipeline = folder / f"{stage}.yaml"
    if not pipeline.exists() or (number is None and name != "input"):
        return ()
    return load_pipeline(str(pipeline)).steps[int(number or 0) :]
