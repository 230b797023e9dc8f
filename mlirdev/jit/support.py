"""Functions that LLVM's code calls and a system may lack: truncation to bfloat.

Arithmetic on bfloat ends in one on processors without bfloat instructions. GCC's support library has it since version
13, which is younger than many systems, so it is written here; the others (__truncsfhf2, __powidf2, __udivti3…) it
has had for long.
"""

from __future__ import annotations

from functools import cache

from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.target import machine, resolve_target
from mlirdev.target import load_target

# By symbol: what it truncates.
_PARAMETERS = {"__truncsfbf2": "float", "__truncdfbf2": "double"}
SUPPORT_SYMBOLS = frozenset(_PARAMETERS)


@cache
def support_object(symbol: str) -> bytes:
    """The object that defines one of SUPPORT_SYMBOLS, for this machine."""
    # Seldom needed, and never by a process that only links kernels compiled elsewhere.
    from mlirdev.jit.legalize import to_bfloat
    from mlirdev.jit.maths.builder import Builder

    function = Builder().function(symbol, [_PARAMETERS[symbol]], lambda x: to_bfloat(x.to("float")))
    module = parse_assembly(function.replace("define internal", "define"))
    return bytes(machine(resolve_target(load_target("host"))).emit_object(module))
