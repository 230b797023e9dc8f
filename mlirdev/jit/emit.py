"""LLVM IR text → object bytes.

text ─ sanitize, legalize, use_library, add_entry ─► accepted text ─ parse, verify ─► module
module ─ optimize, mark_streaming_stores ─► optimised module ─► object
"""

from __future__ import annotations

import re
import time
from typing import Any

from mlirdev.compile_time import spent
from mlirdev.events import Observer, no_observer, replacement
from mlirdev.jit.abi import add_entry
from mlirdev.jit.assemble import assemble
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

    The observer sees the text as LLVM gets it, the optimised IR, and the assembly, and may replace each. Raises
    PassError for text that LLVM rejects.
    """
    target = resolve_target(target)
    start = time.perf_counter()
    with spent("translation"):
        text = accepted_text(llvm_ir, signature, symbol, target)
        found = replacement(observe, "ll", "entry")
        module = parse(text, target) if found is None else _replaced(found, symbol, target)
    taken = text if found is None else found.text
    observe("ll", "entry", lambda: taken, time.perf_counter() - start)
    start = time.perf_counter()
    with spent("optimise"):
        optimize(module, target)
        module = with_streaming_stores(module, target)
    seconds = time.perf_counter() - start
    if (found := replacement(observe, "ll", "optimize")) is not None:
        module = _replaced(found, symbol, target)
    # Codegen changes the module that it reads: who looks gets what was printed before.
    optimised, assembly = ("", "") if observe is no_observer else _printed(module, target)
    observe("ll", "optimize", lambda: optimised, seconds)
    start = time.perf_counter()
    with spent("codegen"):
        data = bytes(machine(target).emit_object(module))
    seconds = time.perf_counter() - start
    if (found := replacement(observe, "asm", "codegen")) is not None:
        assembly, data = found.text, _assembled(found, symbol, target)
    observe("asm", "codegen", lambda: assembly, seconds)
    return data


def emit_plainly(text: str, target: Target, signature: Signature | None = None, symbol: str = "") -> bytes:
    """An object of LLVM IR as it stands, without LLVM's optimisations: of a kernel's text and its signature, or of text
    that has the entry point already. Raises PassError for text that LLVM rejects."""
    target = resolve_target(target)
    whole = text if signature is None else accepted_text(text, signature, symbol, target)
    return bytes(machine(target).emit_object(parse(whole, target)))


def _printed(module: Any, target: Target) -> tuple[str, str]:
    """A module's text and its assembly."""
    return str(module), str(machine(target).emit_assembly(module.clone()))


def _replaced(found: Any, symbol: str, target: Target) -> Any:
    """The module of an override.Replacement, which must have the kernel's entry."""
    if not re.search(rf"^define [^@]*@{symbol}\(", found.text, re.MULTILINE):
        raise found.refuse(f"it defines no @{symbol}, by which the kernel is called")
    return found.read(lambda text: parse(text, target))


def _assembled(found: Any, symbol: str, target: Target) -> bytes:
    """The object of an override.Replacement, which must have the kernel's entry."""
    if not re.search(rf"^{symbol}:", found.text, re.MULTILINE):
        raise found.refuse(f"it defines no {symbol}, by which the kernel is called")
    return assemble(found.text, target)


def with_streaming_stores(module: Any, target: Target) -> Any:
    """The optimised module with the stores to streamed results marked; see streaming.py."""
    text = str(module)
    marked = mark_streaming_stores(text, target)
    return module if marked is text else parse(marked, target)


def accepted_text(llvm_ir: str, signature: Signature, symbol: str, target: Target) -> str:
    """The whole module as text that llvmlite's LLVM takes: the kernel, its entry, and our maths functions."""
    text = use_library(legalize(sanitize(llvm_ir)), target)
    return add_entry(text, signature, symbol, target)
