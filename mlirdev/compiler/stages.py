"""The compiler as a short list of stages; everything here runs in a compile worker (or inline).

import_graph ─► run_graph_pipeline ─► form_groups      once per graph    (`front`)
lower_kernel ─► to_llvm_ir ─► emit_object              once per kernel   (`back`)
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mlirdev.compile_time import spent
from mlirdev.events import Observer, no_observer
from mlirdev.graph import Graph
from mlirdev.plan import Plan, Signature
from mlirdev.target import Target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource


@dataclass(frozen=True)
class Front:
    """A graph's kernels, by source key, and the plan that launches them."""

    kernels: dict[str, KernelSource]
    plan: Plan


@dataclass(frozen=True)
class Refused:
    """Nodes of a graph that no lowering takes, with the reason."""

    reasons: dict[int, str]


@dataclass(frozen=True)
class Back:
    """A kernel's object code; its entry is `entry_symbol(key)`. It took so many seconds to make."""

    code: bytes
    signature: Signature
    seconds: float = 0.0


@lru_cache
def load() -> None:
    """Load MLIR and LLVM and make their contexts, once per process."""
    with spent("start"):
        import mlirdev.jit.emit
        import mlirdev.passes.forming
        import mlirdev.passes.lower

        _context()
        mlirdev.passes.lower.kernel_context()


def front(graph: Graph, target: Target, observe: Observer = no_observer) -> Front | Refused:
    """Graph → linalg → kernel groups and a plan. Raises LoweringError or PassError."""
    load()
    from mlirdev.importer import import_graph, unsupported
    from mlirdev.passes.forming import form_groups
    from mlirdev.passes.runner import run_graph_pipeline

    observe("graph", "recorded", lambda: str(graph), 0.0)
    with spent("import"):
        reasons = {n: unsupported(node, graph.specs) for n, node in enumerate(graph.nodes)}
        if any(reasons.values()):
            return Refused({n: reason for n, reason in reasons.items() if reason})
        module = import_graph(graph, _context(), observe)
    with spent("graph passes"):
        run_graph_pipeline(module, target, observe)
    with spent("forming"):
        formed = form_groups(module, target, graph)
    observe("plan", "formed", lambda: str(formed.plan), 0.0)
    return Front(formed.kernels, formed.plan)


def back(source: KernelSource, key: str, target: Target, observe: Observer = no_observer) -> Back:
    """Kernel on tensors → LLVM → object code. Raises PassError."""
    load()
    from mlirdev.jit import emit_object
    from mlirdev.passes.lower import lower_kernel, to_llvm_ir

    start = time.perf_counter()
    lowered = lower_kernel(source, target, observe)
    with spent("translation"):
        text = to_llvm_ir(lowered.module)
    code = emit_object(text, lowered.signature, entry_symbol(key), target, observe)
    return Back(code, lowered.signature, time.perf_counter() - start)


def entry_symbol(key: str) -> str:
    """The name of a kernel's entry point in its object."""
    return f"mlirdev_{key}"


@lru_cache
def _context() -> Any:
    """The process's one MLIR context: making one costs 13 ms."""
    from mlirdev.importer import new_context

    return new_context()
