"""The passes of a graph or kernel as rows: time, whether each changed something, and which ops came and went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

from mlirdev import schema
from mlirdev.explore.record import Record


@dataclass(frozen=True)
class Step:
    """A pass of an owner. `number` counts over all stages, and is that of its file; a pass that changed nothing has
    the file of the last one that did. `ops` is how many there are, `delta` which are more (+) or fewer (-) than before.
    """

    number: int
    stage: str
    index: int
    name: str
    seconds: float
    changed: bool
    ops: int
    delta: dict[str, int]
    nbytes: int
    elided: bool
    file: str


def steps(record: Record, owner: str) -> list[Step]:
    """The passes of "graphs/NAME" or "kernels/NAME", in order."""
    found = []
    before: schema.Pass | None = None
    for number, step in enumerate(record.passes.get(owner, ())):
        found.append(_step(number, step, before))
        before = step
    return found


def file_number(file: str) -> int:
    """The number in front of a stage file's name: 13 of "013-kernel-canonicalize.mlir", that of the pass it is of."""
    return int(file.partition("-")[0])


def _step(number: int, step: schema.Pass, before: schema.Pass | None) -> Step:
    return Step(
        number=number,
        stage=step.stage,
        index=step.index,
        name=step.name,
        seconds=step.seconds,
        changed=step.changed,
        ops=sum(step.ops.values()),
        delta=_delta(before.ops, step.ops) if before and _same_language(before, step) else {},
        nbytes=step.nbytes,
        elided=step.elided,
        file=step.file,
    )


def _same_language(before: schema.Pass, step: schema.Pass) -> bool:
    """Whether both are MLIR, or LLVM IR, …: the ops of different languages aren't compared."""
    return PurePath(before.file).suffix == PurePath(step.file).suffix


def _delta(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What there is more or less of, the largest change first."""
    change = Counter(after)
    change.subtract(before)
    named = [(name, n) for name, n in change.items() if n]
    return dict(sorted(named, key=lambda item: (-abs(item[1]), item[0])))
