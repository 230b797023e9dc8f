"""Results that are larger than the caches are written past them.

    store <16 x float> %v, ptr %y, align 64    ──►    store <16 x float> %v, ptr %y, align 64, !nontemporal !7

An ordinary store reads the cache line first, which is a third of what a sweep moves, and drives out what is still
wanted. A loop marked before LLVM's vectoriser would stay scalar, as single elements can't be written so; hence this
looks at the optimised text. Marked are aligned vectors that go to a result which the kernel never reads.

A result that is written over a param is in the cache when it is written, and better stays there. A kernel that may be
asked for this is there twice, and looks at its pointers to know which one to run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from mlirdev.plan import BufferParam
from mlirdev.target import Target

# On a parameter of @kernel: LLVM keeps it through its passes, also where it removes other parameters.
STREAMED = '"mlirdev-streamed"'
# On a result that may be written over a param, and on such a param.
MEETING = '"mlirdev-meeting"'
# A result this many times the second-level cache is gone from it before anyone reads it.
_CACHES = 4

_KERNEL = re.compile(
    r"^(?P<head>define [^@\n]*)@kernel\((?P<params>[^\n]*)\)(?P<tail>[^()\n]*)\{\n(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_PARAM = re.compile(r"(?P<type>\w+) (?P<attributes>[^%]*)(?P<name>%[\w.]+)")
_DEBUG = re.compile(r",? !dbg !\d+")
_ADDRESS = re.compile(r"^\s*(?P<name>%[\w.]+) = getelementptr [^\n]*?ptr (?P<base>%[\w.]+),", re.MULTILINE)
_STORE = re.compile(
    r"^(?P<store>\s*store <(?P<lanes>\d+) x (?P<kind>\w+)> [^\n]*, ptr (?P<place>%[\w.]+), align (?P<align>\d+))",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"^!(\d+) = ", re.MULTILINE)
_BYTES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
_FENCE = "llvm.x86.sse.sfence"
# The kernel where its results lie apart from its params, and where one is written over one.
_APART, _OVER = "kernel.apart", "kernel.over"


def is_streamed(result: BufferParam, target: Target) -> bool:
    """Whether a result is known to be too large to stay in the cache."""
    sizes = [size for size in result.shape if size is not None]
    return len(sizes) == len(result.shape) and math.prod(sizes) * result.dtype.itemsize >= _CACHES * target.caches.l2


def mark_streaming_stores(text: str, target: Target) -> str:
    """Optimised LLVM IR with the stores to streamed results marked."""
    kernel = _KERNEL.search(text)
    if kernel is None or STREAMED not in kernel["params"]:
        return text
    number = 1 + max((int(n) for n in _NUMBERED.findall(text)), default=-1)
    params = list(_PARAM.finditer(kernel["params"]))
    body, count = _marked(params, kernel["body"], number)
    if not count:
        return text
    tail = f"\n!{number} = !{{i32 1}}\n"
    if target.llvm.triple.startswith(("x86_64", "amd64")):
        # Such stores may be seen late by another thread; what follows the kernel must not overtake them.
        body = body.replace("  ret void", f"  call void @{_FENCE}()\n  ret void")
        tail += f"declare void @{_FENCE}()\n"
    compared = _compared(params)
    if compared:
        functions = _in_two_ways(kernel, params, compared, body)
        return text[: kernel.start()] + functions + text[kernel.end() :] + tail
    return text[: kernel.start("body")] + body + text[kernel.end("body") :] + tail


def _compared(params: Sequence[re.Match[str]]) -> list[tuple[str, str]]:
    """The streamed results that may be written over a param, each with each such param."""
    meeting = [p for p in params if MEETING in p["attributes"]]
    results = [p["name"] for p in meeting if STREAMED in p["attributes"]]
    others = [p["name"] for p in meeting if STREAMED not in p["attributes"]]
    return [(result, other) for result in results for other in others]


def _in_two_ways(
    kernel: re.Match[str], params: Sequence[re.Match[str]], compared: list[tuple[str, str]], streaming: str
) -> str:
    """The kernel as a choice between two functions: one with streaming stores, and one without for results that are
    written over params. The latter has no lines: they would be another function's."""
    head, signature, tail = kernel["head"], f"({kernel['params']})", kernel["tail"]
    plain_tail = _DEBUG.sub("", tail)
    arguments = ", ".join(f"{p['type']} {p['name']}" for p in params)
    lines, found = ["choose:"], "false"
    for i, (result, other) in enumerate(compared):
        lines += [f"  %same.{i} = icmp eq ptr {result}, {other}", f"  %any.{i} = or i1 {found}, %same.{i}"]
        found = f"%any.{i}"
    lines += [f"  br i1 {found}, label %over, label %apart"]
    for label, function in (("over", _OVER), ("apart", _APART)):
        lines += [f"{label}:", f"  tail call void @{function}({arguments})", "  ret void"]
    chooser = "\n".join(lines)
    return "\n".join(
        [
            f"{head}@{_APART}{signature}{tail}{{\n{streaming}}}",
            f"{head}@{_OVER}{signature}{plain_tail}{{\n{_DEBUG.sub('', kernel['body'])}}}",
            f"{head}@kernel{signature}{plain_tail}{{\n{chooser}\n}}",
        ]
    )


def _marked(params: Sequence[re.Match[str]], body: str, number: int) -> tuple[str, int]:
    results = {p["name"] for p in params if STREAMED in p["attributes"] and "writeonly" in p["attributes"].split()}
    base_of = {address["name"]: address["base"] for address in _ADDRESS.finditer(body)}
    count = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal count
        place = match["place"]
        while place in base_of:
            place = base_of[place]
        if place not in results or int(match["align"]) < int(match["lanes"]) * _BYTES.get(match["kind"], 1 << 30):
            return match["store"]
        count += 1
        return f"{match['store']}, !nontemporal !{number}"

    return _STORE.sub(mark, body), count
