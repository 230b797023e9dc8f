"""Functions that LLVM's code calls and a system may lack: truncation to bfloat.

Arithmetic on bfloat ends in one on processors without bfloat instructions. GCC's support library has it since version
13, which is younger than many systems, so it is written here; the others (__truncsfhf2, __powidf2, __udivti3…) it
has had for long.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from mlirdev.jit.legalize import to_bfloat
from mlirdev.jit.maths.builder import Builder
from mlirdev.jit.target import machine, resolve_target
from mlirdev.target import load_target

# By symbol: its parameter, and the formula.
_FUNCTIONS = {
    "__truncsfbf2": ("float", to_bfloat),
    "__truncdfbf2": ("double", lambda x: to_bfloat(x.to("float"))),
}
SUPPORT_SYMBOLS = frozenset(_FUNCTIONS)


@cache
def support_object(symbol: str) -> bytes:
    """The object that defines one of SUPPORT_SYMBOLS, for this machine."""
    parameter, formula = _FUNCTIONS[symbol]
    text = Builder().function(symbol, [parameter], formula).replace("define internal", "define")
    module = llvm.parse_assembly(text, llvm.create_context())
    return bytes(machine(resolve_target(load_target("host"))).emit_object(module))
