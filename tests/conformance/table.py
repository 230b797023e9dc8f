"""The expected outcomes: table.csv has a row per operator, a column per dtype and direction, and judge.py's words.

    op,float32,float32 backward,int64,…
    add,native,native,native,…

explained.yaml says why an entry is anything but native: rules by operator, dtypes and word, each with a reason.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
TABLE = FOLDER / "table.csv"
EXPLAINED = FOLDER / "explained.yaml"

DTYPES = ("float32", "int64", "bool", "bfloat16", "float64", "float16", "int32", "uint8", "complex64")
DIFFERENTIABLE = ("float32", "bfloat16", "float64", "float16", "complex64")
COLUMNS = [c for d in DTYPES for c in ((d, f"{d} backward") if d in DIFFERENTIABLE else (d,))]

Row = dict[str, str]


def read() -> dict[str, Row]:
    """Operator → column → word."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        return {row.pop("op"): row for row in csv.DictReader(file)}


def write(rows: dict[str, Row]) -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["op", *COLUMNS], lineterminator="\n")
        writer.writeheader()
        for op in sorted(rows):
            writer.writerow({"op": op, **{c: rows[op].get(c, "") for c in COLUMNS}})


@dataclass(frozen=True)
class Explanation:
    """Why the operators that match `ops` have this outcome, in these dtypes; `on_some`: on some processors, where
    PyTorch's own kernels are others, and native elsewhere."""

    ops: re.Pattern[str]
    outcome: str
    dtypes: tuple[str, ...]
    reason: str
    on_some: bool

    def covers(self, op: str, dtype: str, outcome: str) -> bool:
        return outcome == self.outcome and dtype in self.dtypes and self.ops.fullmatch(op) is not None


def explanations() -> Iterator[Explanation]:
    entries: list[dict[str, Any]] = yaml.safe_load(EXPLAINED.read_text()) or []
    for entry in entries:
        dtypes = tuple(entry.get("dtypes", DTYPES))
        on_some = entry.get("processors") == "some"
        yield Explanation(re.compile(entry["ops"]), entry["outcome"], dtypes, entry["reason"], on_some)


def entries(rows: dict[str, Row]) -> Iterator[tuple[str, str, str]]:
    """Operator, column and word of all that isn't empty."""
    for op, row in rows.items():
        for column, word in row.items():
            if word:
                yield op, column, word
