"""Executables of this process: found, or compiled and linked.

graph ─► graph cache ─► plan and objects on disk ─► Compilation ─► kernels linked, each once ─► Executable
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from weakref import WeakValueDictionary

from mlirdev import compile_time
from mlirdev.compiler import cache, fingerprint, verdicts
from mlirdev.compiler.chosen import chosen_target
from mlirdev.compiler.difference import describe, describe_marks, nearest
from mlirdev.compiler.driver import Compilation
from mlirdev.compiler.executable import Executable
from mlirdev.compiler.fingerprint import graph_key
from mlirdev.compiler.generalise import Known, Wide, widened
from mlirdev.compiler.graph_cache import Found, GraphCache
from mlirdev.compiler.partition import HostPart, join
from mlirdev.compiler.progress import Progress
from mlirdev.compiler.stages import Back, entry_symbol
from mlirdev.compiler.varying import Place
from mlirdev.events import GraphCompiled, SourceLine, emit
from mlirdev.graph import Graph
from mlirdev.jit import Kernel, link
from mlirdev.options import options

_lock = threading.RLock()
_graphs: dict[tuple[str, ...], GraphCache] = {}
_kernels: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_named: WeakValueDictionary[str, Executable] = WeakValueDictionary()


def executable_for(
    graph: Graph, where: SourceLine | None = None, other: Graph | None = None, marked: Sequence[Place] = ()
) -> Found:
    """The executable of a recorded graph and the values of its syms; compiled if no cache has it.

    `other` is the same program for other sizes, if it is meant for such: then those that differ become inputs at once.
    `marked` are dims of the graph's inputs of which it is known that they will vary.
    """
    with _lock:
        graphs = _graphs.setdefault(options.code, GraphCache())
        return graphs.find(graph) or _compile(graph, graphs, where, other, marked)


def _compile(
    graph: Graph, graphs: GraphCache, where: SourceLine | None, other: Graph | None, marked: Sequence[Place]
) -> Found:
    like, latest = graphs.like(graph), graphs.latest()
    if options.compile == "reference" or graphs.needs_fixed_sizes(graph):
        wide = Wide(graph, (), like[0].graph if like else nearest(graph, latest))
    else:
        twin = Known(other) if other is not None and other.skeleton == graph.skeleton else None
        wide = widened(graph, like[0] if like else twin, latest, marked)
    reason = describe(graph, wide.beside, wide.grew) + describe_marks(marked, wide.graph)
    beside = graph_name(wide.beside) if wide.beside else ""
    executable = _build(wide.graph, where, reason, beside)
    if wide.graph.syms and len(executable.host) > (len(like[1].host) if like else 0):
        static = _build(graph, where, reason, beside)
        if len(static.host) < len(executable.host):
            if not wide.guessed:  # some lowering needs static sizes: each size gets an executable of its own
                graphs.fix_sizes(graph)
            wide, executable = Wide(graph), static
    graphs.add(Known(wide.graph, wide.syms, wide.guessed), executable)
    return executable, wide.syms


def graph_name(graph: Graph) -> str:
    """What people call a graph: the same in every process."""
    return "g_" + hashlib.sha256(str(graph).encode()).hexdigest()[:8]


def named(name: str) -> Executable | None:
    """The executable of this process with this name, if there is one."""
    return _named.get(name)


def _build(graph: Graph, where: SourceLine | None, reason: str, beside: str) -> Executable:
    start = time.perf_counter()
    compile_time.take()
    name = graph_name(graph)
    if options.compile == "reference":
        return _reference(graph, name)
    target = chosen_target()
    progress = Progress(f"{len(graph.nodes)} ops", where)
    compilation = Compilation(graph, target, name, progress.tick)
    compiled, from_disk = _plan(compilation)
    with compile_time.spent("link"):
        kernels = _link(compilation, compiled)
    seconds = time.perf_counter() - start
    progress.done(seconds)
    executable = _named[name] = Executable(name, graph, compiled, kernels, target)
    emit(
        GraphCompiled(
            where=where,
            graph=name,
            reason=reason,
            nearest=beside,
            nodes=len(graph.nodes),
            kernels=len(compiled.plan.kernels),
            kernels_compiled=compilation.compiled,
            from_disk=from_disk,
            generalised=graph.syms > 0,
            seconds=seconds,
            stages=compile_time.take(),
        )
    )
    return executable


def _plan(compilation: Compilation) -> tuple[cache.CompiledPlan, bool]:
    """The graph's plan with all its objects at hand, from the disk or compiled now."""
    key = graph_key(compilation.graph, compilation.target)
    compiled = None if options.dump or compilation.alone else cache.load_plan(key)
    if compiled is not None and _load_objects(compilation, compiled):
        return compiled, True
    compiled = compilation.run()
    if not (
        compilation.failed or compilation.alone
    ):  # what failed for a passing reason gets another chance in the next process
        cache.store_plan(key, compiled)
    return compiled, False


def _load_objects(compilation: Compilation, compiled: cache.CompiledPlan) -> bool:
    for key in compiled.plan.kernels:
        back = None if key in _kernels else cache.load_object(key)
        if back is not None:
            compilation.objects[key] = back
        elif key not in _kernels:
            return False
    return True


def _link(compilation: Compilation, compiled: cache.CompiledPlan) -> dict[str, Kernel]:
    """The plan's kernels as machine code, each linked once per process, or for a graph with edited files alone."""
    missing = [key for key in compiled.plan.kernels if compilation.alone or key not in _kernels]
    objects: dict[str, Back] = compilation.objects
    linked = link({entry_symbol(key): objects[key].code for key in missing})
    kernels = {key: linked[entry_symbol(key)] for key in missing}
    if not compilation.alone:
        _kernels.update(kernels)
    return {key: kernels.get(key) or _kernels[key] for key in compiled.plan.kernels}


def _reference(graph: Graph, name: str) -> Executable:
    """Every node on the host: the reference that compiled graphs are compared with."""
    plan = join(graph, [HostPart(n) for n in range(len(graph.nodes))], {})
    host = dict.fromkeys(range(len(graph.nodes)), "reference")
    executable = _named[name] = Executable(name, graph, cache.CompiledPlan(plan, {}, {}, host), {})
    return executable


def forget() -> None:
    """Drop what this process knows of graphs, kernels, verdicts and code, as a new process would start."""
    with _lock:
        _graphs.clear()
        _kernels.clear()
        verdicts.clear()
        fingerprint.clear()
