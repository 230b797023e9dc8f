"""Which ordinals the lines of a stage's text stand for, from what the text itself says.

    MLIR       loc("n3"), fused, named and callsite locations, by alias or in place
    LLVM IR    !dbg ─► !DILocation(line: 4)
    assembly   .loc 1 4
    graphs     // n3, // nodes [3, 5]

In a graph's text an ordinal is a node of the graph, in a kernel's an op of the kernel: `PlanLaunch.nodes` has the node
of each. Where ordinals became debug lines (passes/number_lines.py), ordinal k is line k + 1 of the file `kernel`, and
line 0 is none. Nothing is guessed: an op without a location has no ordinals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mlirdev.explore.irtext import LOCATION, Language
from mlirdev.plan import LINES_FILE

# Of a line: what its ops stand for, in ascending order, () where they don't say; None where no op is on it.
Ordinals: TypeAlias = "tuple[int, ...] | None"


def line_ordinals(text: str, language: Language) -> list[Ordinals]:
    """What each line of a stage's text stands for. All lines of an op that has several, such as the first and last
    one around a region, stand for the same."""
    return _READERS[language](text.split("\n"))


def ordinals_in(text: str, language: Language) -> frozenset[int]:
    """All that a text stands for."""
    return frozenset(n for found in line_ordinals(text, language) for n in found or ())


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of a text's lines with ops say what they stand for."""

    linked: int
    ops: int

    @property
    def share(self) -> float:
        return self.linked / self.ops if self.ops else 1.0


def coverage(lines: list[Ordinals]) -> Coverage:
    """How much of a text is linked."""
    ops = [found for found in lines if found is not None]
    return Coverage(sum(map(bool, ops)), len(ops))


# --- MLIR -----------------------------------------------------------------------------------------

_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_ORDINAL = re.compile(rf'"n(\d+)"|"{LINES_FILE}":(\d+):\d+|(#loc\d*)\b')


class _Locations:
    """What the locations of one text stand for; aliases may be used before the line that defines them."""

    def __init__(self, lines: list[str]) -> None:
        matches = (_ALIAS.match(line) for line in lines if line.startswith("#loc"))
        self._aliases = {match[1]: match[2] for match in matches if match}
        self._known: dict[str, tuple[int, ...]] = {}

    def read(self, location: str) -> tuple[int, ...]:
        """The ordinals of a location, `#loc3` or `fused["n1", #loc4]`."""
        if location not in self._known:
            found: set[int] = set()
            for name, line, alias in _ORDINAL.findall(location):
                if alias:
                    found.update(self.read(self._aliases.get(alias, "")))
                elif name or int(line):
                    found.add(int(name or int(line) - 1))
            self._known[location] = tuple(sorted(found))
        return self._known[location]

    def of_line(self, line: str) -> tuple[int, ...]:
        """Of all locations on a line."""
        return tuple(sorted({n for match in LOCATION.findall(line) for n in self.read(match)}))

    def of_op(self, line: str) -> tuple[int, ...]:
        """Of the location at a line's end, the op's own; what stands before it belongs to its arguments."""
        if line[-1] != ")":
            return ()
        start = line.rfind(" loc(")
        return self.read(line[start + 5 : -1]) if start >= 0 else ()


def _of_mlir(lines: list[str]) -> list[Ordinals]:
    locations = _Locations(lines)
    found: list[Ordinals] = [None] * len(lines)
    # Of every op that isn't at its end: its lines so far. The end of a region or list closes the innermost.
    unfinished: list[list[int]] = []
    in_list = False
    for number, line in enumerate(lines):
        bare = line.strip()
        # Millions of lines come by here, so what is rare is told by one look at the first character.
        if not bare or (bare[0] in "/{#" and (line[0] == "#" or bare.startswith(("//", "{-#", "#-}")))):
            continue
        first, last = bare[0], bare[-1]
        if first == "^":
            found[number] = locations.of_line(bare) or None
            continue
        if in_list and first != "]":
            unfinished[-1].append(number)
            continue
        op = unfinished.pop() if unfinished and (first == "}" or first == "]") else []
        in_list = last == "["
        if in_list or last == "{":
            unfinished.append([*op, number])
            continue
        found[number] = ordinals = locations.of_op(bare)
        for own in op:
            found[own] = ordinals
    return found


# --- LLVM IR --------------------------------------------------------------------------------------

_DEBUG_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+),(?:.*inlinedAt: !(\d+))?")
_DEBUG_FILE = re.compile(rf'^!\d+ = !DIFile\(filename: "{LINES_FILE}"', re.MULTILINE)
_ATTACHED = re.compile(r", !dbg !(\d+)")


def _debug_locations(lines: list[str]) -> dict[str, tuple[int, ...]]:
    """The ordinals of each !DILocation; one without a line stands for what it is inlined at."""
    matches = (_DEBUG_LOCATION.match(line) for line in lines if line.startswith("!"))
    locations = {match[1]: (int(match[2]), match[3]) for match in matches if match}

    def read(number: str) -> tuple[int, ...]:
        line, inlined_at = locations.get(number, (0, None))
        if line:
            return (line - 1,)
        return read(inlined_at) if inlined_at else ()

    return {number: read(number) for number in locations}


def _of_llvm(lines: list[str]) -> list[Ordinals]:
    locations = _debug_locations(lines) if any(map(_DEBUG_FILE.match, lines)) else {}
    found: list[Ordinals] = [None] * len(lines)
    start = None
    for number, line in enumerate(lines):
        if not line.startswith("  ") or line.startswith(("    ", "  #dbg")):
            continue
        if line.endswith("["):  # a switch, which has a case a line
            start = number
            continue
        first = number if start is None else start
        start = None
        attached = _ATTACHED.search(line)
        ordinals = locations.get(attached[1], ()) if attached else ()
        found[first : number + 1] = [ordinals] * (number + 1 - first)
    return found


# --- assembly and graphs --------------------------------------------------------------------------

_ASM_FILE = re.compile(rf'^\t\.file\t(\d+) (?:"[^"]*" )?"{LINES_FILE}"')
_ASM_LINE = re.compile(r"^\t\.loc\t(\d+) (\d+)")


def _of_asm(lines: list[str]) -> list[Ordinals]:
    found: list[Ordinals] = [None] * len(lines)
    files = {match[1] for match in map(_ASM_FILE.match, lines) if match}
    now: tuple[int, ...] = ()
    for number, line in enumerate(lines):
        if not line.startswith("\t"):
            continue
        if line[1:2] != ".":
            found[number] = now
        elif line.startswith("\t.loc"):
            match = _ASM_LINE.match(line)
            now = (int(match[2]) - 1,) if match and match[1] in files and int(match[2]) else ()
        elif line.startswith("\t.cfi_startproc"):
            now = ()  # a function without debug lines has no `.loc` that says so
    return found


_NODES = re.compile(r"  // (?:n(\d+)|nodes \[([\d, ]*)\])$")


def _of_plain(lines: list[str]) -> list[Ordinals]:
    found: list[Ordinals] = []
    for line in lines:
        match = _NODES.search(line)
        numbers = re.findall(r"\d+", match[1] or match[2]) if match else []
        found.append(tuple(sorted(set(map(int, numbers)))) if match else None)
    return found


_READERS: dict[Language, Callable[[list[str]], list[Ordinals]]] = {
    Language.MLIR: _of_mlir,
    Language.LLVM: _of_llvm,
    Language.ASM: _of_asm,
    Language.PLAIN: _of_plain,
}
