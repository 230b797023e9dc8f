"""The Plan: what to run, on which slots, in which order; pure data that pickles.

    Graph inputs ─► slots ─► launches, in order ─► slots ─► Graph outputs

A slot is a piece of memory: an input's, an output's, or a temporary's. A Launch runs one kernel of
native code on slots; a HostLaunch runs one graph node through PyTorch on the CPU, in order. Sizes of
a generalised graph are dims of `Sym`s, evaluated when the plan is bound (`evaluate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from mlirdev.dtypes import DType
from mlirdev.sizes import Dim
from mlirdev.sizes import DimExpr as DimExpr
from mlirdev.sizes import evaluate as evaluate

# A size when a plan is bound.
PlanDim: TypeAlias = Dim


# --- what a kernel takes -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BufferParam:
    """A dense, row-major buffer. A dim is an int, or None where it is run-time: then `dims` of the
    Signature says, in order over all buffers, which DimParam holds it."""

    shape: tuple[int | None, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar input, read from 8 bytes as f64 ("float") or i64 ("int", "bool")."""

    kind: str


@dataclass(frozen=True, slots=True)
class DimParam:
    """A run-time size, an i64."""


Param: TypeAlias = BufferParam | ScalarParam | DimParam


@dataclass(frozen=True, slots=True)
class Signature:
    """How a kernel is called: one pointer to a packed array of pointers, in this order

        [error word, thread count, workspace, params…, results…]

    Every entry is a pointer: to the ErrorWord, to an i64, to 64-byte aligned scratch memory, to a
    buffer's first element, or to the 8 bytes of a scalar or dim. The thread count is how many threads
    the kernel may use; so many times `thread_workspace` and once `workspace` are the bytes of scratch.
    `dims[i]` is the position in `params` of the DimParam that holds the i-th run-time dim, counted
    over the shapes of `params`' buffers and then of `results`.

    A pair (result, param) in `in_place` says that the two may be one buffer: the kernel reads each element before it
    writes it. A result is written over one param at most, and that is no other param as well.
    """

    params: tuple[Param, ...]
    results: tuple[BufferParam, ...]
    dims: tuple[int, ...] = ()
    workspace: int = 0
    thread_workspace: int = 0
    in_place: tuple[tuple[int, int], ...] = ()

    def scratch_bytes(self, threads: int) -> int:
        """The scratch memory that a launch on so many threads needs."""
        return self.workspace + threads * self.thread_workspace


# Where the packed array's params start.
ABI_ERROR, ABI_THREADS, ABI_WORKSPACE, ABI_PARAMS = 0, 1, 2, 3

# A kernel that is split over threads defines the first, given its run-time sizes, and calls the second.
WANTS_THREADS, BARRIER = "wants_threads", "mlirdev_barrier"

# A kernel's k-th op is line k + 1 of this file, in its debug lines; line 0 is none.
LINES_FILE = "kernel"

# Attributes of a lowered kernel's module: the bytes of scratch memory that it wants, in all and per thread.
WORKSPACE_BYTES, THREAD_WORKSPACE_BYTES = "mlirdev.workspace", "mlirdev.thread_workspace"
# The same for `in_place`: places counted over params and then results, a result's and a param's in turn.
IN_PLACE = "mlirdev.in_place"

# Every buffer starts at a multiple of so many bytes.
BUFFER_ALIGNMENT = 64

# The error word: four i64, zero when all is well. A kernel stores them without a lock; the first
# non-zero code found after a run is reported.
ERROR_WORD_BYTES = 32
# At [0]; [1] is the node ordinal, [2] the value, [3] the bound.
ERROR_NONE, ERROR_INDEX, ERROR_ASSERT, ERROR_DIVISION = 0, 1, 2, 3

# What a kernel may find wrong when it runs: the messages of `cf.assert` (torch-mlir's own words) and their codes.
# A check with another message is of sizes, which recording has made, and gets ERROR_ASSERT.
INDEX_HIGH = "index must be smaller than dim size"
INDEX_LOW = "index must be larger or equal to 0"
ZERO_DIVISION = "ZeroDivisionError"
# Of values, in eager's words, each with a code of its own from ERROR_VALUE on; {0} is the value, {1} its bound.
MASK_SELECTS = "shape mismatch: {1} values for a mask that selects {0} elements"
SOURCE_TOO_SHORT = "Number of elements of source < number of ones in mask"
REPEATS_NEGATIVE = "repeats can not be negative"
REPEATS_TOTAL = "allocated size does not match required size"
SEGMENTS_TOTAL = "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis) when !unsafe."
LENGTH_NEGATIVE = "lengths contains negative value!"
RANGE_NOT_FINITE = "the range of the values is not finite"
PROBABILITY = "probability tensor contains either `inf`, `nan` or element < 0"
PROBABILITIES_SUM = "invalid multinomial distribution (sum of probabilities <= 0)"
BERNOULLI_PROBABILITY = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."
POISSON_RATE = "invalid Poisson rate, expected rate to be non-negative"
DEVIATION = "normal expects all elements of std >= 0.0"
VALUE_CHECKS = (
    MASK_SELECTS,
    SOURCE_TOO_SHORT,
    REPEATS_NEGATIVE,
    REPEATS_TOTAL,
    SEGMENTS_TOTAL,
    LENGTH_NEGATIVE,
    RANGE_NOT_FINITE,
    PROBABILITY,
    PROBABILITIES_SUM,
    BERNOULLI_PROBABILITY,
    POISSON_RATE,
    DEVIATION,
)
ERROR_VALUE = 16
CHECKS = {
    INDEX_HIGH: ERROR_INDEX,
    INDEX_LOW: ERROR_INDEX,
    ZERO_DIVISION: ERROR_DIVISION,
    **{message: ERROR_VALUE + i for i, message in enumerate(VALUE_CHECKS)},
}


# --- what a plan does ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """Memory for one value; `shape` may hold Syms."""

    shape: tuple[PlanDim, ...]
    dtype: DType

    def nbytes(self, syms: tuple[int, ...]) -> int:
        return math.prod(evaluate(d, syms) for d in self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class SlotArg:
    """A launch's operand: the slot of this number, from `offset` bytes on (a multiple of a buffer's alignment)."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A launch's operand: number `index` of the graph's scalar inputs."""

    index: int


@dataclass(frozen=True, slots=True)
class DimArg:
    """A launch's operand: a size."""

    dim: PlanDim


LaunchArg: TypeAlias = SlotArg | ScalarArg | DimArg


@dataclass(frozen=True, slots=True)
class Cost:
    """What a launch does at least: arithmetic operations, and bytes read and written, each operand once; with Syms in
    them where sizes are inputs."""

    flops: PlanDim = 0
    nbytes: PlanDim = 0

    @property
    def is_static(self) -> bool:
        return isinstance(self.flops, int) and isinstance(self.nbytes, int)

    def at(self, syms: tuple[int, ...]) -> tuple[int, int]:
        """Operations and bytes at these sizes."""
        return evaluate(self.flops, syms), evaluate(self.nbytes, syms)


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of the kernel whose key is `kernel`. `args` fit the Signature's params one to one,
    `results` are slots. `nodes[k]` is the graph node that the kernel's ordinal location `nk` stands for; `made[i]` the
    node whose result the i-th result is, as far as locations tell, and -1 for a step on the way to one."""

    kernel: str
    args: tuple[LaunchArg, ...]
    results: tuple[int, ...]
    nodes: tuple[int, ...] = ()
    made: tuple[int, ...] = ()
    cost: Cost = Cost()


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """One run of graph node `node` on the host. `operands` are the slots of the node's operands, in the
    order of `Node.operands()`; `results` the slots of its results."""

    node: int
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """See the module's docstring. `inputs[i]` is the slot of graph input i; `outputs[i]` the slot of
    graph output i, which may be an input's slot or the same as another output's."""

    slots: tuple[Slot, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    launches: tuple[Launch | HostLaunch, ...]
    scalars: tuple[str, ...] = ()
    syms: int = 0
    kernels: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"slot {i}: {'x'.join([*map(str, s.shape), s.dtype.value])}" for i, s in enumerate(self.slots)]
        for launch in self.launches:
            if isinstance(launch, HostLaunch):
                lines.append(f"host n{launch.node} {list(launch.operands)} -> {list(launch.results)}")
            else:
                args = ", ".join(_format_launch_arg(a) for a in launch.args)
                lines.append(f"launch {launch.kernel}({args}) -> {list(launch.results)}  // nodes {list(launch.nodes)}")
        lines.append(f"return {list(self.outputs)}")
        return "\n".join(lines)


def _format_launch_arg(arg: LaunchArg) -> str:
    if isinstance(arg, SlotArg):
        return f"slot {arg.slot} + {arg.offset}" if arg.offset else f"slot {arg.slot}"
    return f"scalar {arg.index}" if isinstance(arg, ScalarArg) else f"dim {arg.dim}"
