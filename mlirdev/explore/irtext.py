"""IR as text: made comparable, counted, and cut into functions, without MLIR or LLVM.

    without_locations, without_attributes, with_values_renamed     text ─► text to compare or to read
    op_counts ─► dialect_mix, functions                            text ─► what is in it

Each works on MLIR, LLVM IR and assembly as our pipelines print them; other text passes as it is.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath


class Language(enum.Enum):
    """What a stage's file is written in."""

    MLIR = "mlir"
    LLVM = "llvm"
    ASM = "asm"
    PLAIN = "text"


_LANGUAGES = {".mlir": Language.MLIR, ".ll": Language.LLVM, ".s": Language.ASM}


def language_of(file: str) -> Language:
    """The language of a file of this name."""
    return _LANGUAGES.get(PurePath(file).suffix, Language.PLAIN)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of IR is of no interest: locations, attributes, and how values are called."""

    locations: bool = False
    attributes: bool = False
    names: bool = False


def normalized(text: str, language: Language, hidden: Hidden) -> str:
    """The text without what is hidden; two texts that differ in nothing else become equal."""
    if hidden.locations:
        text = without_locations(text, language)
    if hidden.attributes:
        text = without_attributes(text, language)
    return with_values_renamed(text, language) if hidden.names else text


# --- locations ------------------------------------------------------------------------------------

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NESTED = rf'\((?:[^()"\n]|{_STRING}|\((?:[^()"\n]|{_STRING}|\([^()\n]*\))*\))*\)'
_DEBUG_ATTACHMENT = re.compile(r",? !dbg !\d+")
# A location behind an op or argument; group 1 is what it says, with its brackets.
LOCATION = re.compile(rf" loc({_NESTED})")
_OWN_LOCATION = re.compile(r" loc\([^()\n]*\)$", re.MULTILINE)
_LOCATION_ALIAS = re.compile(r"#(?:loc\d* = loc\(|di_\w+ = )")

_DEBUG_METADATA = re.compile(r'!(?:llvm\.dbg\.cu|\d+) = (?:distinct )?(?:!DI|!\{(?:!\d+)?\}|!\{i32 \d+, !"Debug Info)')
_MODULE_FLAGS = "!llvm.module.flags = "

_ASM_DEBUG = re.compile(r"\t\.(?:loc|file|cfi_sections)\b|\.L(?:tmp|func_begin|func_end|debug_\w+|info_\w+)\d*:")


def without_locations(text: str, language: Language) -> str:
    """The text without what says where an op comes from: locations, debug metadata, `.loc` and debug sections."""
    return "\n".join(line for line in lines_without_locations(text, language) if line is not None)


def lines_without_locations(text: str, language: Language) -> list[str | None]:
    """Each line of a text without what says where an op comes from; None for one that says nothing else."""
    lines = text.split("\n")
    if language is Language.MLIR:
        # Most locations are an op's own, short, and at the end of its line: these go all at once.
        short = _OWN_LOCATION.sub("", text).split("\n")
        return [
            _mlir_without_location(line) if line[:1] == "#" or " loc(" in bare else bare
            for line, bare in zip(lines, short, strict=True)
        ]
    if language is Language.LLVM:
        return _llvm_without_locations(lines)
    return list(_asm_without_locations(lines)) if language is Language.ASM else list(lines)


def _mlir_without_location(line: str) -> str | None:
    if line.startswith("#") and _LOCATION_ALIAS.match(line):
        return None
    start = line.find(" loc(")
    if start < 0:
        return line
    # Most lines have one, at their end.
    is_last = line.endswith(")") and line.find(" loc(", start + 1) < 0
    return line[:start] if is_last else LOCATION.sub("", line)


def _llvm_without_locations(lines: list[str]) -> list[str | None]:
    debug = {line.partition(" ")[0] for line in lines if line.startswith("!") and _DEBUG_METADATA.match(line)}
    found: list[str | None] = []
    for line in lines:
        if line.startswith(_MODULE_FLAGS):
            is_debug = debug.issuperset(re.findall(r"!\d+", line))
        else:
            is_debug = line.startswith("!") and line.partition(" ")[0] in debug
        found.append(None if is_debug else _DEBUG_ATTACHMENT.sub("", line) if "!dbg" in line else line)
    return found


def _asm_without_locations(lines: list[str]) -> Iterator[str | None]:
    is_debug = False
    for line in lines:
        if line.startswith("\t.section"):
            is_debug = line.startswith("\t.section\t.debug_")
        yield None if is_debug or _ASM_DEBUG.match(line) else line


# --- attributes -----------------------------------------------------------------------------------

_BRACES = rf'\{{(?:[^{{}}"\n]|{_STRING}|\{{(?:[^{{}}"\n]|{_STRING}|\{{[^{{}}\n]*\}})*\}})*\}}'
# A dictionary starts with a name that has a value or stands alone; `linalg.map { arith.addf }` is none.
_DICTIONARY = re.compile(
    rf"(?<!linalg\.map)(?<!linalg\.reduce)(?: attributes)? (?:<(?=\{{))?(?=\{{[\w.$\"]+(?: = |, |\}})){_BRACES}>?"
)
_ALIAS = re.compile(r"^(#\w+) = [^\n]*\n", re.MULTILINE)
_LLVM_GROUPS = re.compile(r"^(?:attributes #\d+ = |; Function Attrs: )[^\n]*\n?", re.MULTILINE)
_LLVM_GROUP = re.compile(r" #\d+(?=[ ,\n]|$)", re.MULTILINE)
_LLVM_ATTACHMENT = re.compile(r", !(?!dbg\b)[\w.]+ !\d+")


def without_attributes(text: str, language: Language) -> str:
    """The text without attributes in braces and their aliases (MLIR), attribute groups and attachments (LLVM IR)."""
    if language is Language.MLIR:
        return _without_unused_aliases(_DICTIONARY.sub("", text))
    if language is Language.LLVM:
        return _LLVM_ATTACHMENT.sub("", _LLVM_GROUP.sub("", _LLVM_GROUPS.sub("", text)))
    return text


def _without_unused_aliases(text: str) -> str:
    body = _ALIAS.sub("", text)
    used = set(re.findall(r"#\w+", body)) | {f"#loc{n}" for n in re.findall(r"^#loc(\d*) = ", text, re.MULTILINE)}
    return _ALIAS.sub(lambda alias: alias[0] if alias[1] in used else "", text)


# --- names ----------------------------------------------------------------------------------------

_MLIR_NAME = re.compile(rf"({_STRING})|(%[\w$.-]+)|(\^bb\d+)")
_LLVM_NAME = re.compile(rf"({_STRING})|(%[\w$.-]+)|^([\w$.-]+):", re.MULTILINE)
_ASM_LABEL = re.compile(r"\.L[A-Za-z_]+[\d_]*")
_BLOCK_COMMENT = re.compile(r" +(?:; preds = |// (?:\d+ )?preds?: |// no predecessors)[^\n]*")


def with_values_renamed(text: str, language: Language) -> str:
    """The text with SSA values, blocks and local labels numbered in the order in which they appear."""
    if language is Language.MLIR:
        return "\n".join(_mlir_lines_renamed(_BLOCK_COMMENT.sub("", text).split("\n")))
    if language is Language.LLVM:
        # A name that is used before it is defined, in a phi, gets its number there.
        pieces = re.split(r"(?m)^(?=define )", _BLOCK_COMMENT.sub("", text))
        return "".join(_llvm_renamed(piece) for piece in pieces)
    if language is Language.ASM:
        labels: dict[str, str] = {}
        return _ASM_LABEL.sub(lambda label: labels.setdefault(label[0], f".L{len(labels)}"), text)
    values: dict[str, str] = {}
    return re.sub(r"%\w+", lambda name: values.setdefault(name[0], f"%{len(values)}"), text)


def _mlir_lines_renamed(lines: list[str]) -> Iterator[str]:
    """Names live until their region closes: regions beside each other may use one again for something else."""
    scopes: list[dict[str, str]] = [{}]
    count = 0

    def rename(match: re.Match[str]) -> str:
        nonlocal count
        if match[1]:
            return match[1]
        names = scopes[-1]
        if match[0] not in names:
            names[match[0]] = f"%v{count}" if match[2] else f"^b{count}"
            count += 1
        return names[match[0]]

    for line in lines:
        bare = line.strip()
        if bare.startswith("}") and len(scopes) > 1:
            scopes.pop()
        yield _MLIR_NAME.sub(rename, line)
        if bare.endswith("{"):
            scopes.append(dict(scopes[-1]))


def _llvm_renamed(function: str) -> str:
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        new = names.setdefault(match[2] or f"%{match[3]}", f"%v{len(names)}")
        return new if match[2] else f"{new[1:]}:"

    return _LLVM_NAME.sub(rename, function)


# --- what is in it --------------------------------------------------------------------------------

_MLIR_OP = re.compile(r"^ *(?:%[^=\n]* = )?\"?([a-z_]\w*(?:\.[\w.]+)?)\"?(?=[ (<\n{]|$)", re.MULTILINE)
# How builtin and func print the ops of theirs that have no dialect's name before them.
_BARE = {"module": "builtin.module", "return": "func.return", "call": "func.call"}
_LLVM_OP = re.compile(r"^  (?:%[\w$.-]+ = )?(?:tail |musttail |notail )?([a-z]\w*)\b", re.MULTILINE)
_ASM_OP = re.compile(r"^\t([a-z]\w*)\b", re.MULTILINE)
_PLAIN_OP = re.compile(r"^(?:[%\w, :]+ = )?([\w.]+)", re.MULTILINE)
_OPS = {
    Language.MLIR: _MLIR_OP,
    Language.LLVM: _LLVM_OP,
    Language.ASM: _ASM_OP,
    Language.PLAIN: _PLAIN_OP,
}


def op_counts(text: str, language: Language) -> dict[str, int]:
    """How often each op (instruction) stands in the text, the most frequent first, then by name."""
    counts = Counter(_OPS[language].findall(text))
    if language is Language.MLIR:
        counts = Counter({_BARE.get(name, name): count for name, count in counts.items()})
        counts = Counter({name: count for name, count in counts.items() if "." in name})
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def dialect_mix(counts: Mapping[str, int]) -> dict[str, int]:
    """Ops by dialect, from `op_counts` of MLIR, the most frequent first, then by name."""
    mix: Counter[str] = Counter()
    for name, count in counts.items():
        mix[name.partition(".")[0]] += count
    return dict(sorted(mix.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True)
class Function:
    """A function's name and its lines in the text, from 1, the last one included."""

    name: str
    first: int
    last: int


_FUNCTION_STARTS = {
    Language.MLIR: re.compile(r"^( *)(?:func\.func|llvm\.func)\b.*?@([\w$.]+)\(.*\{$"),
    Language.LLVM: re.compile(r"^()define .*?@([\w$.]+)\("),
    Language.ASM: re.compile(r"^()([A-Za-z_][\w$.]*):"),
}
_FUNCTION_ENDS = {Language.MLIR: "}", Language.LLVM: "}", Language.ASM: "\t.cfi_endproc"}


def functions(text: str, language: Language) -> list[Function]:
    """The functions that have a body in the text."""
    if language not in _FUNCTION_STARTS:
        return []
    start, end = _FUNCTION_STARTS[language], _FUNCTION_ENDS[language]
    found: list[Function] = []
    name, first, last_line = "", 0, end
    for number, line in enumerate(text.split("\n"), 1):
        opened = None if name else start.match(line)
        if opened:
            name, first, last_line = opened[2], number, opened[1] + end
        elif name and line.startswith(last_line):
            found.append(Function(name, first, number))
            name = ""
    return found
