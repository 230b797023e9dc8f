"""The stages of import: rewrite, build, then torch-mlir's two pipelines, and what tidies up after them."""

from __future__ import annotations

import time

from torch_mlir import ir

from mlirdev.events import Observer, no_observer, replacement
from mlirdev.graph import Graph
from mlirdev.override import put_in_place

from .builder import build
from .context import TO_TORCH_BACKEND, caught, check_lowered, run_pipeline, text_of, to_linalg
from .rewriter import rewrite
from .tidy import tidy


def import_graph(graph: Graph, context: ir.Context, observe: Observer = no_observer) -> ir.Module:
    """See mlirdev.importer.import_graph."""
    start = time.perf_counter()
    module = build(rewrite(graph), context)
    with caught():
        module.operation.verify()  # the passes take a valid module for granted, and may abort on another
    seconds = time.perf_counter() - start
    put_in_place(module, replacement(observe, "torch", "import"))
    observe("torch", "import", lambda: text_of(module), seconds)
    run_pipeline(module, TO_TORCH_BACKEND, "torch", observe)
    run_pipeline(module, to_linalg(), "linalg", observe)
    check_lowered(module)
    tidy(module, graph, observe)
    return module
