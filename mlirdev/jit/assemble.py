"""Assembly text → object bytes, by LLVM's own assembler: the text goes through a module as its inline assembly.

Text that LLVM can't read ends the process, with LLVM's words and the line; so this runs in workers.
"""

from __future__ import annotations

from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.target import machine
from mlirdev.target import Target


def assemble(text: str, target: Target) -> bytes:
    """The object of an assembly file for a resolved target."""
    lines = (line.replace("\\", "\\5C").replace('"', "\\22") for line in text.splitlines())
    module = parse_assembly("\n".join(f'module asm "{line}"' for line in lines))
    module.triple = target.llvm.triple
    module.data_layout = str(machine(target).target_data)
    return bytes(machine(target).emit_object(module))
