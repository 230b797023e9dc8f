"""The passes of a graph or kernel as the record keeps them: a dump's files, and a line a pass beside them.

A pass that changes nothing has no file of its own: its line names the file before. A text that is too long is cut, with
a word at its end. Written where the passes run, in a compile worker, a pass at a time, so that what a crash leaves says
which pass was next.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mlirdev import compile_time, schema
from mlirdev.dump import COMMENTS, SUFFIXES, DumpObserver
from mlirdev.events import ComingPass

# A longer text than this is cut.
MAX_BYTES = 2 << 20
ELIDED = "__elided__"

# The op of a line, by stage; of MLIR with its dialect.
_OPS = {
    "graph": re.compile(r"^.* = (\w+\.\w+)", re.MULTILINE),
    "ll": re.compile(r"^ +(?:%\S+ = )?(?:tail |musttail |notail )?([a-z]+)\b", re.MULTILINE),
    "asm": re.compile(r"^\t([a-z]\w*)", re.MULTILINE),
    "plan": re.compile(r"^(launch|host)\b", re.MULTILINE),
}
_MLIR_OPS = re.compile(r'^ *(?:%[\w:]+(?:, %[\w:]+)* = )?"?([a-z_]\w*(?:\.\w+)+)', re.MULTILINE)


class PassRecorder(DumpObserver):
    """An Observer that writes to `folder/owner/`; see the module's docstring. Times are told from `begin` on, of
    time.perf_counter(), whose clock is the same in all processes."""

    def __init__(self, folder: Path, owner: str, begin: float = 0.0) -> None:
        super().__init__(folder, owner)
        self._begin = begin
        self._at = 0.0
        self._owner = owner
        self._last = ("", "")  # a text and its file
        self._passes = self._folder / schema.PASSES_FILE
        self._passes.write_bytes(b"")

    def begin(
        self, stage: str, coming: tuple[ComingPass, ...], legal: tuple[str, ...], text: Callable[[], str]
    ) -> None:
        self._at = time.perf_counter() - self._begin
        with compile_time.apart("watching"):
            super().begin(stage, coming, legal, text)

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self._at = time.perf_counter() - self._begin - seconds
        with compile_time.apart("watching"):
            super().__call__(stage, pass_name, text, seconds)

    def _keep(self, stage: str, pass_name: str, what: str, text: str, seconds: float) -> None:
        name = self._names.take(stage, pass_name)
        last, file = self._last
        changed = text != last
        if changed or Path(file).suffix != Path(name).suffix:
            file = name
            self._write(file, stage, what, _cut(text, stage))
            self._last = text, file
        line = schema.Pass(
            owner=self._owner,
            index=self._done,
            stage=stage,
            name=pass_name,
            file=file,
            seconds=seconds,
            changed=changed,
            ops=op_counts(stage, text),
            nbytes=len(text),
            elided=len(text) > MAX_BYTES or ELIDED in text,
            at=self._at,
            worker=os.getpid(),
        )
        with self._passes.open("ab") as lines:
            lines.write(schema.encode(line))


def op_counts(stage: str, text: str) -> dict[str, int]:
    """How often each op, instruction or mnemonic stands in a stage's text, the most frequent first."""
    return dict(Counter(_OPS.get(stage, _MLIR_OPS).findall(text)).most_common())


def _cut(text: str, stage: str) -> str:
    if len(text) <= MAX_BYTES:
        return text
    whole = text.rfind("\n", 0, MAX_BYTES) + 1 or MAX_BYTES
    comment = COMMENTS[SUFFIXES.get(stage, ".mlir")]
    return f"{text[:whole]}{comment} {len(text) - whole:,} more bytes were left out\n"
