"""The way into a kernel: from one packed array of pointers to MLIR's descriptor convention.

    void <symbol>(ptr packed)                            runtime's side, see `mlirdev.plan.Signature`
      └─► void @kernel(error…, threads, workspace…, params…, results…)
            a memref is spread into: allocated ptr, aligned ptr, offset, sizes…, strides…

Buffers are dense, row-major and 64-byte aligned. Params are never written and results overlap nothing,
so every aligned pointer is `noalias`. The kernel isn't inlined into its entry: `noalias` says most on a
function's own parameters, and the assembly shows the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlirdev.dtypes import DType
from mlirdev.errors import PassError
from mlirdev.plan import (
    ABI_ERROR,
    ABI_PARAMS,
    ABI_THREADS,
    ABI_WORKSPACE,
    BUFFER_ALIGNMENT,
    BufferParam,
    DimParam,
    ScalarParam,
    Signature,
)

KERNEL = "kernel"

_DEFINE = re.compile(
    r"^define (?P<head>[^@\n]*)@(?P<name>[-\w.$]+)\((?P<params>[^\n]*)\)(?P<tail>[^()\n]*)\{$", re.MULTILINE
)


def add_entry(text: str, signature: Signature, symbol: str, vector_bits: int) -> str:
    """The module's text with @kernel made internal and the entry added; every function prefers `vector_bits`."""
    entry = _Entry(signature)
    arguments = entry.arguments()

    def define(match: re.Match[str]) -> str:
        params, head, tail = match["params"], match["head"], match["tail"]
        if match["name"] == KERNEL:
            params = _kernel_params(params, arguments)
            head, tail = "internal " + head, " noinline" + tail
        return f"define {head}@{match['name']}({params}){_preferring(tail, vector_bits)}{{"

    if not any(match["name"] == KERNEL for match in _DEFINE.finditer(text)):
        raise PassError("ll", "abi", f"the module defines no function @{KERNEL}")
    text = _DEFINE.sub(define, text)
    call = ", ".join(value for _, value in arguments)
    body = "\n".join(f"  {line}" for line in entry.lines)
    return f"{text}\n\ndefine void @{symbol}(ptr %packed) {{\n{body}\n  call void @{KERNEL}({call})\n  ret void\n}}\n"


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


class _Entry:
    """Writes the entry's instructions and remembers what it has loaded."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.lines: list[str] = []
        self._dims = iter(signature.dims)
        self._counter = 0

    def arguments(self) -> list[tuple[str, str]]:
        """The kernel's arguments in order: (parameter attributes, typed value)."""
        signature = self.signature
        error = BufferParam((4,), DType.i64)
        workspace = BufferParam((signature.workspace,), DType.i8)
        arguments = [*self._buffer(ABI_ERROR, error, alignment=8), ("", self._scalar(ABI_THREADS, "i64"))]
        arguments += self._buffer(ABI_WORKSPACE, workspace)
        self._dim_values = {
            i: self._scalar(ABI_PARAMS + i, "i64").split()[1]
            for i, param in enumerate(signature.params)
            if isinstance(param, DimParam)
        }
        for i, param in enumerate((*signature.params, *signature.results)):
            if isinstance(param, BufferParam):
                arguments += self._buffer(ABI_PARAMS + i, param)
            elif isinstance(param, ScalarParam):
                arguments.append(("", self._scalar(ABI_PARAMS + i, "double" if param.kind == "float" else "i64")))
            else:
                arguments.append(("", f"i64 {self._dim_values[i]}"))
        return arguments

    def _buffer(self, entry: int, param: BufferParam, alignment: int = BUFFER_ALIGNMENT) -> Iterator[tuple[str, str]]:
        pointer = self._pointer(entry)
        sizes = [str(d) if d is not None else self._dim_values[next(self._dims)] for d in param.shape]
        # `allocated` is only ever freed, and these buffers aren't: no promise on it.
        yield "", f"ptr {pointer}"
        yield f"noalias align {alignment}", f"ptr {pointer}"
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

    def _scalar(self, entry: int, kind: str) -> str:
        return f"{kind} {self._let(f'load {kind}, ptr {self._pointer(entry)}, align 8')}"

    def _let(self, instruction: str) -> str:
        name = f"%e{self._counter}"
        self._counter += 1
        self.lines.append(f"{name} = {instruction}")
        return name
