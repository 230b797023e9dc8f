"""LLVM IR text → object bytes.

text ─ sanitize, legalize, use_library, add_entry ─► accepted text ─ parse, verify ─► module
module ─ optimize, mark_streaming_stores ─► optimised module ─► object
"""

from __future__ import annotations

import time
from typing import Any

from mlirdev.compile_time import spent
from mlirdev.events import Observer, no_observer
from mlirdev.jit.abi import add_entry
from mlirdev.jit.legalize import legalize
from mlirdev.jit.maths import use_library
from mlirdev.jit.optimize import optimize, parse
from mlirdev.jit.sanitize import sanitize
from mlirdev.jit.streaming import mark_streaming_stores
from mlirdev.jit.target import machine, resolve_target
from mlirdev.plan import Signature
from mlirdev.target import Target


def emit_object(
    llvm_ir: str, signature: Signature, symbol: str, target: Target, observe: Observer = no_observer
) -> bytes:
    """A relocatable object that defines `void symbol(ptr packed)` for the text's @kernel.

    The observer sees the text as LLVM gets it, the optimised IR, and the assembly. Raises PassError for text that
    LLVM rejects.
    """
    target = resolve_target(target)
    start = time.perf_counter()
    with spent("translation"):
        text = accepted_text(llvm_ir, signature, symbol, target)
        module = parse(text, target)
    observe("ll", "entry", lambda: text, time.perf_counter() - start)
    start = time.perf_counter()
    with spent("optimise"):
        optimize(module, target)
        module = with_streaming_stores(module, target)
    seconds = time.perf_counter() - start
    # Codegen changes the module that it reads: who looks gets a copy, whenever they look.
    copy = None if observe is no_observer else module.clone()
    observe("ll", "optimize", lambda: str(copy), seconds)
    start = time.perf_counter()
    with spent("codegen"):
        data = bytes(machine(target).emit_object(module))
    seconds = time.perf_counter() - start
    observe("asm", "codegen", lambda: str(machine(target).emit_assembly(copy.clone())) if copy else "", seconds)
    return data


def with_streaming_stores(module: Any, target: Target) -> Any:
    """The optimised module with the stores to streamed results marked; see streaming.py."""
    text = str(module)
    marked = mark_streaming_stores(text, target)
    return module if marked is text else parse(marked, target)


def accepted_text(llvm_ir: str, signature: Signature, symbol: str, target: Target) -> str:
    """The whole module as text that llvmlite's LLVM takes: the kernel, its entry, and our maths functions."""
    text = use_library(legalize(sanitize(llvm_ir)), target)
    return add_entry(text, signature, symbol, target)
