"""The way into a kernel: from one packed array of pointers to MLIR's descriptor convention.

    void <symbol>(ptr packed)                            runtime's side, see `mlirdev.plan.Signature`
      └─► void @member(ptr packed, i64 thread, i64 threads)
            └─► void @kernel(error…, thread, threads, workspace…, params…, results…)
                  a memref is spread into: allocated ptr, aligned ptr, offset, sizes…, strides…

A kernel that is split over threads says by `@wants_threads(sizes…)` whether a launch is worth it; then every thread of
a team calls @member, each with its own number (see `team`). Any other kernel runs on the caller's thread.

Buffers are dense, row-major and 64-byte aligned. Params are never written and results overlap nothing, so every
aligned pointer is `noalias`, but for a result that may be written over a param, and that param. The kernel isn't
inlined into its entry: `noalias` says most on a function's own parameters, and the assembly shows the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.jit.streaming import MEETING, STREAMED, is_streamed
from mlirdev.jit.team import RUN_TEAM
from mlirdev.plan import (
    ABI_ERROR,
    ABI_PARAMS,
    ABI_THREADS,
    ABI_WORKSPACE,
    BUFFER_ALIGNMENT,
    WANTS_THREADS,
    BufferParam,
    DimParam,
    ScalarParam,
    Signature,
)
from mlirdev.target import Target

KERNEL = "kernel"

# The entry of a kernel that runs on its caller's thread, and of one that may have a team's help.
_ALONE = """
define void @{symbol}(ptr %packed) {{
  call void @member(ptr %packed, i64 0, i64 1)
  ret void
}}
"""
_TOGETHER = """
declare void @{run_team}(ptr, ptr, i64)

define void @{symbol}(ptr %packed) {{
{lines}
  %many = icmp sgt i64 {count}, 1
  %wanted = call i1 @{wants_threads}({sizes})
  %together = and i1 %many, %wanted
  br i1 %together, label %team, label %alone
team:
  call void @{run_team}(ptr @member, ptr %packed, i64 {count})
  ret void
alone:
  call void @member(ptr %packed, i64 0, i64 1)
  ret void
}}
"""
_MEMBER = """
define internal void @member(ptr %packed, i64 %thread, i64 %threads) {{
{lines}
  call void @{kernel}({call})
  ret void
}}
"""

_DEFINE = re.compile(
    r"^define (?P<head>[^@\n]*)@(?P<name>[-\w.$]+)\((?P<params>[^\n]*)\)(?P<tail>[^()\n]*)\{$", re.MULTILINE
)


def add_entry(text: str, signature: Signature, symbol: str, target: Target) -> str:
    """The module's text with its functions made internal and the entry added; each prefers the target's vectors."""
    member = _Loads(signature)
    arguments = member.arguments(target)

    def define(match: re.Match[str]) -> str:
        params, head, tail = match["params"], match["head"], match["tail"]
        if match["name"] == KERNEL:
            params = _kernel_params(params, arguments)
            head, tail = "internal " + head, " noinline" + tail
        elif match["name"] == WANTS_THREADS:
            head = "internal " + head
        return f"define {head}@{match['name']}({params}){_preferring(tail, target.llvm.vector_bits)}{{"

    defined = {match["name"] for match in _DEFINE.finditer(text)}
    if KERNEL not in defined:
        raise PassError("ll", "abi", f"the module defines no function @{KERNEL}")
    call = ", ".join(value for _, value in arguments)
    parts = [
        _DEFINE.sub(define, text),
        _MEMBER.format(lines=member.text, kernel=KERNEL, call=call),
        _together(signature, symbol) if WANTS_THREADS in defined else _ALONE.format(symbol=symbol),
    ]
    return "\n".join(parts)


def _together(signature: Signature, symbol: str) -> str:
    loads = _Loads(signature)
    count = loads.scalar(ABI_THREADS, "i64").split()[1]
    sizes = ", ".join(f"i64 {size}" for size in loads.sizes().values())
    lines = loads.text
    return _TOGETHER.format(
        symbol=symbol, run_team=RUN_TEAM, wants_threads=WANTS_THREADS, lines=lines, count=count, sizes=sizes
    )


def _preferring(tail: str, vector_bits: int) -> str:
    """A define's tail (attributes, then metadata) with the vector width among its attributes."""
    attributes, mark, metadata = tail.partition("!")
    return f' {attributes.strip()} "prefer-vector-width"="{vector_bits}" {mark}{metadata}'


def _kernel_params(params: str, arguments: list[tuple[str, str]]) -> str:
    """The define's parameters, with the attributes that each argument promises."""
    given = [p.strip() for p in params.split(", ")] if params.strip() else []
    if [p.split()[0] for p in given] != [value.split()[0] for _, value in arguments]:
        raise PassError("ll", "abi", f"@{KERNEL} takes ({params}), but its signature gives {[v for _, v in arguments]}")
    return ", ".join(
        f"{kind} {attributes} {name}" if attributes else f"{kind} {name}"
        for (kind, name), (attributes, _) in zip((_type_and_name(p) for p in given), arguments, strict=True)
    )


def _type_and_name(param: str) -> tuple[str, str]:
    words = param.split()
    return words[0], words[-1]


class _Loads:
    """Writes the instructions that read a packed array, and remembers what it has loaded."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.lines: list[str] = []
        self._dims = iter(signature.dims)
        self._counter = 0

    @property
    def text(self) -> str:
        return "\n".join(f"  {line}" for line in self.lines)

    def sizes(self) -> dict[int, str]:
        """The values of the run-time sizes, by their place among the params."""
        return {
            i: self.scalar(ABI_PARAMS + i, "i64").split()[1]
            for i, param in enumerate(self.signature.params)
            if isinstance(param, DimParam)
        }

    def arguments(self, target: Target) -> list[tuple[str, str]]:
        """The kernel's arguments in order: (parameter attributes, typed value)."""
        signature = self.signature
        error = BufferParam((4,), DType.i64)
        # How long it is in all nobody asks.
        workspace = BufferParam((signature.scratch_bytes(1),), DType.i8)
        arguments = [*self._buffer(ABI_ERROR, error, alignment=8), ("", "i64 %thread"), ("", "i64 %threads")]
        arguments += self._buffer(ABI_WORKSPACE, workspace)
        self._dim_values = self.sizes()
        first = len(signature.params)
        meeting = {place for result, param in signature.in_place for place in (first + result, param)}
        for i, param in enumerate((*signature.params, *signature.results)):
            if isinstance(param, BufferParam):
                streamed = i >= len(signature.params) and is_streamed(param, target)
                promises = [MEETING if i in meeting else "noalias", STREAMED if streamed else ""]
                arguments += self._buffer(ABI_PARAMS + i, param, promises=promises)
            elif isinstance(param, ScalarParam):
                arguments.append(("", self.scalar(ABI_PARAMS + i, "double" if param.kind == "float" else "i64")))
            else:
                arguments.append(("", f"i64 {self._dim_values[i]}"))
        return arguments

    def _buffer(
        self,
        entry: int,
        param: BufferParam,
        alignment: int = BUFFER_ALIGNMENT,
        promises: Sequence[str] = ("noalias",),
    ) -> Iterator[tuple[str, str]]:
        pointer = self._pointer(entry)
        sizes = [str(d) if d is not None else self._dim_values[next(self._dims)] for d in param.shape]
        # `allocated` is only ever freed, and these buffers aren't: no promise on it.
        yield "", f"ptr {pointer}"
        yield " ".join([f"align {alignment}", *filter(None, promises)]), f"ptr {pointer}"
        yield "", "i64 0"
        yield from (("", f"i64 {size}") for size in sizes)
        yield from (("", f"i64 {stride}") for stride in self._strides(sizes))

    def _strides(self, sizes: list[str]) -> list[str]:
        strides = ["1"] * len(sizes)
        for i in range(len(sizes) - 2, -1, -1):
            strides[i] = self._product(strides[i + 1], sizes[i + 1])
        return strides

    def _product(self, a: str, b: str) -> str:
        if not a.startswith("%") and not b.startswith("%"):
            return str(int(a) * int(b))
        return self._let(f"mul i64 {a}, {b}")

    def _pointer(self, entry: int) -> str:
        slot = self._let(f"getelementptr inbounds ptr, ptr %packed, i64 {entry}")
        return self._let(f"load ptr, ptr {slot}, align 8")

    def scalar(self, entry: int, kind: str) -> str:
        """A typed value, read from where the entry points."""
        return f"{kind} {self._let(f'load {kind}, ptr {self._pointer(entry)}, align 8')}"

    def _let(self, instruction: str) -> str:
        name = f"%e{self._counter}"
        self._counter += 1
        self.lines.append(f"{name} = {instruction}")
        return name
