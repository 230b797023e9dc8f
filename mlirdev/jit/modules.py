"""LLVM's modules, each in a context of its own, for as long as it lives."""

from __future__ import annotations

import weakref
from typing import Any

import llvmlite.binding as llvm


def parse_assembly(text: str) -> Any:
    """The module of LLVM IR text, not verified. Raises RuntimeError with LLVM's diagnostics.

    llvmlite's module refers to its context, but where both lie in a cycle, as in the traceback of an exception that
    somebody keeps, the garbage collector may free the context first, and the module then crashes the process. So the
    context is held from outside until its module has been found dead.
    """
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    weakref.finalize(module, _let_go, context).atexit = False
    return module


def _let_go(context: Any) -> None:
    """Called when the module is dead, and still refers to the context: what is freed last is the context."""
