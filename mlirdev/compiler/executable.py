"""An Executable: a graph's kernels and plan, ready to run on a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from mlirdev.compiler.cache import CompiledPlan
from mlirdev.errors import InternalError
from mlirdev.graph import Graph, Node, TensorSpec
from mlirdev.jit import Kernel, runall_address, stamp_address
from mlirdev.options import options
from mlirdev.plan import HostLaunch, Launch
from mlirdev.runtime import Buffer, Inspect, PlanRunner, Stream, ignored, unchanged
from mlirdev.target import Target

Scalar = float | int | bool

# Runs one node on the host: the node with its sizes, operands and results as (static spec, address), the
# graph's scalars. `lazy/` provides it, since only it knows PyTorch.
HostExecutor = Callable[
    [Node, Sequence[tuple[TensorSpec, int]], Sequence[tuple[TensorSpec, int]], Sequence[Scalar]], None
]
# How many of the sizes that an executable ran with are remembered.
_SIZES_KEPT = 64
_host_executor: list[HostExecutor] = []


# What looks at every launch of a run, if it wants to: given the executable, its scalars and syms, and what adds a host
# launch's line to an error. `explore/` provides it.
Inspector = Callable[
    ["Executable", Sequence[Scalar], tuple[int, ...], Callable[[HostLaunch, BaseException], BaseException]],
    Inspect | None,
]
_inspector: list[Inspector] = []


def set_inspector(inspector: Inspector | None) -> None:
    """Whom to ask, before each run, whether it looks at the launches; None ends it."""
    _inspector[:] = [] if inspector is None else [inspector]


def set_host_executor(executor: HostExecutor) -> None:
    """What runs the nodes that have no kernel."""
    _host_executor[:] = [executor]


class Executable:
    """Run it as often as you like, from any thread. `compiled` is its plan and what is known of its kernels; `host`
    says why a node runs on the host, by position; `launches` is how many kernels a run launches; `target` is None where
    nothing was compiled."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        compiled: CompiledPlan,
        kernels: Mapping[str, Kernel],
        target: Target | None = None,
    ) -> None:
        self.name = name
        self.graph = graph
        self.compiled = compiled
        self.target = target
        self.plan = plan = compiled.plan
        self.host = compiled.host
        self._with_sizes = lru_cache(maxsize=_SIZES_KEPT)(graph.at)  # by the values of the syms, for host nodes
        self.launches = sum(isinstance(launch, Launch) for launch in plan.launches)
        self._kernels = dict(kernels)  # keeps the machine code alive
        addresses = {key: kernel.address for key, kernel in kernels.items()}
        code = compiled.signatures, addresses, runall_address()
        self._runner = PlanRunner(plan, *code, self._run_node, stamp_address(), options.guard_pages)

    def run(
        self,
        stream: Stream,
        inputs: Sequence[Buffer],
        scalars: Sequence[Scalar],
        syms: tuple[int, ...],
        threads: int,
        describe: Callable[[Launch, tuple[int, int, int, int]], Exception],
        wait: bool = False,
        describe_host: Callable[[HostLaunch, BaseException], BaseException] = unchanged,
        free: tuple[int, ...] = (),
        launched: Callable[[list[Buffer]], None] = ignored,
    ) -> list[Buffer]:
        """Enqueue the plan on a stream; the outputs' buffers at once, or with `wait` when it has run.

        Memory is reserved before anything runs (OutOfMemoryError).

        `describe` turns a launch's error word (code, node ordinal, value, bound) into the user's error, `describe_host`
        what a host launch raised. `free` are the positions of inputs, of those that `may_lend`, that nobody else needs:
        the outputs may be written over them, and once `launched` is called with the outputs, they have been.
        """
        launch = self._runner.launch
        inspect = _inspector[0](self, scalars, syms, describe_host) if _inspector else None
        return launch(stream, inputs, scalars, syms, threads, describe, wait, describe_host, free, launched, inspect)

    def may_lend(self, syms: tuple[int, ...], threads: int) -> tuple[int, ...]:
        """The positions of inputs whose memory outputs would take if nobody else needed them."""
        return self._runner.may_lend(syms, threads)

    def _run_node(
        self,
        position: int,
        operands: Sequence[tuple[int, int]],
        results: Sequence[tuple[int, int]],
        scalars: Sequence[Scalar],
        syms: tuple[int, ...],
    ) -> None:
        if not _host_executor:
            raise InternalError("no host executor is set; import mlirdev.lazy first")
        first = self.graph.first_result[position]
        static = self._with_sizes(syms)
        node, specs = static.nodes[position], static.specs
        _host_executor[0](
            node,
            [(specs[v], address) for v, (address, _) in zip(node.operands(), operands, strict=True)],
            [(specs[first + i], address) for i, (address, _) in enumerate(results)],
            scalars,
        )
