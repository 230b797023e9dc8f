"""Passes: from linalg on tensors to LLVM, as named data.

    whole graph   run_graph_pipeline     pipelines/graph.yaml       fuse, fold, clean up
                  form_groups            forming.py                 kernel groups → KernelSources and the Plan
    per kernel    lower_kernel           pipelines/kernel*.yaml     tile, vectorise, bufferise → LLVM dialect
                  to_llvm_ir             pipelines/llvm.yaml        → LLVM IR text, the seam to jit/

A pass of ours is one file here with a kebab-case `NAME` (registry.py); MLIR's own passes go by MLIR's names;
a transform-dialect schedule is a file in schedules/. A pipeline is a YAML file in pipelines/ (pipeline.py),
run step by step (runner.py). Adding a pass touches its own file and one pipeline line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirdev.passes.forming import Formed, form_groups
    from mlirdev.passes.kernel_source import KernelSource
    from mlirdev.passes.lower import Lowered, lower_kernel, to_llvm_ir
    from mlirdev.passes.runner import run_graph_pipeline, run_pipeline

__all__ = [
    "Formed",
    "KernelSource",
    "Lowered",
    "form_groups",
    "lower_kernel",
    "run_graph_pipeline",
    "run_pipeline",
    "to_llvm_ir",
]

# Loaded when asked for, so that a process that only unpickles a KernelSource loads no MLIR.
_HOMES = {
    "Formed": "forming",
    "KernelSource": "kernel_source",
    "Lowered": "lower",
    "form_groups": "forming",
    "lower_kernel": "lower",
    "run_graph_pipeline": "runner",
    "run_pipeline": "runner",
    "to_llvm_ir": "lower",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
