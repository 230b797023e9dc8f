"""Instructions that LLVM lowers badly or not at all, written another way.

- Bools in memory are bytes. The loop vectoriser refuses loads and stores of i1, so they become i8; any byte
  but 0 reads as true, as in PyTorch.
- float → bfloat becomes integer arithmetic that rounds to nearest even, denormals too: most processors have no
  instruction for it, where LLVM calls a function for each element, and x86's own flushes denormals.
- double → half and double → bfloat go by float, as PyTorch's do: their direct forms are library calls.
"""

from __future__ import annotations

import re

from mlirdev.jit.maths.builder import Builder, Value, select

_ATTACHMENTS = r"(?P<attachments>(?:, ![\w.]+ ![\w.]+)*)"
_LOAD = re.compile(
    rf"^  %(?P<name>[\w.$-]+) = load i1, (?P<rest>ptr [^\n,]+(?:, align \d+)?){_ATTACHMENTS}$", re.MULTILINE
)
_STORE = re.compile(
    rf"^  store i1 (?P<value>[^\s,]+), (?P<rest>ptr [^\n,]+(?:, align \d+)?){_ATTACHMENTS}$", re.MULTILINE
)
_TRUNCATE = re.compile(
    r"^  %(?P<name>[\w.$-]+) = fptrunc (?:[a-z]+ )*?(?P<type><(?P<lanes>\d+) x (?P<lane>float|double)>|float|double) "
    rf"(?P<value>[^\n]+?) to (?P<result><\d+ x (?:half|bfloat)>|half|bfloat){_ATTACHMENTS}$",
    re.MULTILINE,
)


def legalize(text: str) -> str:
    """The module's text with those instructions replaced."""
    if "i1" in text:
        text = _STORE.sub(_byte_store, _LOAD.sub(_byte_load, text))
    if "fptrunc" not in text:
        return text
    widths: set[int] = set()
    text = _TRUNCATE.sub(lambda match: _by_float(match, widths), text)
    return "\n".join([text, *map(_to_bfloat, sorted(widths))])


def _byte_load(match: re.Match[str]) -> str:
    name, attachments = match["name"], match["attachments"]
    return (
        f"  %byte.{name} = load i8, {match['rest']}{attachments}\n"
        f"  %{name} = icmp ne i8 %byte.{name}, 0{_location(attachments)}"
    )


def _byte_store(match: re.Match[str]) -> str:
    byte = f"%byte.stored.{match.start()}"
    attachments = match["attachments"]
    return (
        f"  {byte} = zext i1 {match['value']} to i8{_location(attachments)}\n"
        f"  store i8 {byte}, {match['rest']}{attachments}"
    )


def _location(attachments: str) -> str:
    """Of an instruction's metadata, what an instruction beside it may carry too."""
    found = re.search(r", !dbg ![\w.]+", attachments)
    return found.group() if found else ""


def _by_float(match: re.Match[str], widths: set[int]) -> str:
    """A truncation to half or bfloat in steps that LLVM does inline; notes the widths of to_bfloat it needs."""
    name, value, attachments = match["name"], match["value"], match["attachments"]
    lanes = int(match["lanes"] or 0)
    floats = f"<{lanes} x float>" if lanes else "float"
    lines = []
    if match["type"] != floats:
        lines.append(f"  %float.{name} = fptrunc {match['type']} {value} to {floats}{attachments}")
        value = f"%float.{name}"
    if "bfloat" in match["result"]:
        widths.add(lanes)
        lines.append(f"  %{name} = call {match['result']} @{_name(lanes)}({floats} {value}){attachments}")
    else:
        lines.append(f"  %{name} = fptrunc {floats} {value} to {match['result']}{attachments}")
    return "\n".join(lines)


def _name(lanes: int) -> str:
    return f"mlirdev.to_bfloat.{Builder(lanes).suffix_of('float')}"


def _to_bfloat(lanes: int) -> str:
    return Builder(lanes).function(_name(lanes), ["float"], to_bfloat)


def to_bfloat(x: Value) -> Value:
    """The nearest bfloat, ties to even; NaN becomes the quiet one."""
    bits = x.bits()
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return (select(x.is_unordered(), 0x7FC00000, rounded) >> 16).to("i16").as_float("bfloat")
