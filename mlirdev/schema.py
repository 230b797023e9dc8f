"""The record that `--explore` writes: what each of its lines is.

    OUT/
      record.jsonl           a line a thing, in the order in which they came: the types below
      graphs/NAME/           a graph's stages, a numbered file a pass, as MLIRDEV_DUMP writes them, and
        passes.jsonl         a `Pass` or `Failure` a line, written where the pass ran: in a compile worker
      kernels/NAME/          the same of a kernel
      trace.json             the timeline, in Chrome's trace format
      report.html            all of it as one page

A line is a JSON object whose key `kind` names its type. Times are seconds since the record began, sizes are bytes.
Every id is a name that a second run of the program gives too, but for `Run.number`. Unknown keys are ignored, so a
reader of version N takes every record of version N.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

VERSION = 1
RECORD_FILE, PASSES_FILE = "record.jsonl", "passes.jsonl"


class _Line(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower, omit_defaults=True):
    """Base of all lines."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A line of the user's program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Header(_Line, frozen=True):
    """The first line: what ran, with what. `peak_gflops` and `peak_gbps` are the machine's, against which utilisation
    is told (0: not known); they are measured at the end, and then a second header takes the place of the first."""

    version: int
    argv: list[str]
    started: str
    versions: dict[str, str]
    options: dict[str, str]
    target: dict[str, Any]
    processor: str = ""
    threads: int = 1
    peak_gflops: float = 0.0
    peak_gbps: float = 0.0


class GraphNode(msgspec.Struct, frozen=True):
    """One op of a graph: `text` is its line in the graph's text, `results` are values such as "f32[2,3]"; `host` says
    why it runs on the CPU, if it does."""

    op: str
    text: str
    operands: list[int]
    results: list[str]
    host: str = ""


class PlanLaunch(msgspec.Struct, frozen=True):
    """One launch of a graph's plan: of a kernel (by its `Kernel.name`), or of one node on the host (`kernel` empty).
    `nodes` are the graph's nodes that it computes: place k is what the location `nk` in the kernel's IR stands for.
    `reads` and `writes` are slots."""

    kernel: str
    nodes: list[int]
    reads: list[int]
    writes: list[int]


class PlanSlot(msgspec.Struct, frozen=True):
    """A piece of memory of a plan. `role` is input, output or temporary; `nbytes` is 0 where a size is run-time."""

    spec: str
    role: str
    nbytes: int = 0


class Graph(_Line, frozen=True):
    """A graph that was compiled, or found on disk: once per executable. `reason` says why it was no hit, `nearest` is
    the graph that it was compared with; `stages` are seconds of work by stage, over all workers. Where the CPU runs
    some nodes, `parts` are the nodes of each piece that was compiled by itself: if there are several, their passes
    belong to "graphs/NAME.0" and so on, and a location `nk` in their IR is the k-th of the piece's nodes."""

    name: str
    inputs: list[str]
    nodes: list[GraphNode]
    outputs: list[int]
    slots: list[PlanSlot]
    launches: list[PlanLaunch]
    syms: int = 0
    generalised: bool = False
    from_disk: bool = False
    reason: str = ""
    nearest: str = ""
    seconds: float = 0.0
    stages: dict[str, float] = {}
    where: Place | None = None
    at: float = 0.0
    parts: list[list[int]] = []


class Kernel(_Line, frozen=True):
    """A kernel; a later line of the same name takes the place of an earlier one. `type` is its kind of kernel group
    (row, contraction, …). `flops` and `nbytes` (read and written once) are of one launch, from linalg; 0 where sizes
    are run-time, then a `Launch` has its own. `from_cache`: the run used an object from disk or memory, and the passes
    shown were run again for the record; `differs`: their object has other bytes than the cached one."""

    name: str
    key: str
    type: str
    signature: str = ""
    flops: int = 0
    nbytes: int = 0
    from_cache: bool = False
    differs: bool = False
    object_bytes: int = 0
    seconds: float = 0.0


class Pass(_Line, frozen=True):
    """The IR after a pass, or with index 0 of a stage before its first (`name` is then "input"). `owner` is
    "graphs/NAME" or "kernels/NAME", `file` lies in that folder; `ops` counts ops by name. `worker` is the process in
    which it ran."""

    owner: str
    index: int
    stage: str
    name: str
    file: str
    seconds: float = 0.0
    changed: bool = True
    ops: dict[str, int] = {}
    nbytes: int = 0
    elided: bool = False
    at: float = 0.0
    worker: int = 0


class Failure(_Line, frozen=True):
    """A pass, or a whole compile, that failed. `op` is the guilty op's text with its types, if one is known, `illegal`
    counts the ops that weren't lowered; `before` is the file of the IR before the pass, `command` goes on from it."""

    owner: str
    stage: str
    name: str
    message: str
    op: str = ""
    ordinals: list[int] = []
    illegal: dict[str, int] = {}
    before: str = ""
    command: str = ""
    reproducer: str = ""


class Lines(_Line, frozen=True):
    """Where the nodes of a graph were recorded, node by node: a way in which the program reached it. `file_lines` are
    indices into `places`."""

    id: int
    graph: str
    places: list[Place]
    file_lines: list[int]


class Run(_Line, frozen=True):
    """A graph that was launched. `cause` is why then (`events.Flush.cause`), `lines` the id of a `Lines`."""

    number: int
    graph: str
    cause: str
    hit: bool
    lines: int
    at: float
    record_s: float = 0.0
    launch_s: float = 0.0
    stream: int = 0
    thread: str = ""
    where: Place | None = None
    syms: list[int] = []


class Launch(_Line, frozen=True):
    """A launch that has run: number `index` of the run's plan. `addresses` are those of its slots: reads, then writes.
    `flops` and `nbytes` where the kernel's depend on the sizes of this run."""

    run: int
    index: int
    stream: int
    at: float
    seconds: float
    threads: int = 1
    addresses: list[int] = []
    flops: int = 0
    nbytes: int = 0


class Copy(_Line, frozen=True):
    """Bytes between host and device, or within it. `way` is h2d, d2h or d2d."""

    way: str
    nbytes: int
    at: float
    seconds: float
    stream: int = 0
    where: Place | None = None


class Memory(_Line, frozen=True):
    """The device's memory in use from now on."""

    at: float
    allocated: int


class Sync(_Line, frozen=True):
    """The program waited for the device."""

    cause: str
    at: float
    seconds: float
    explicit: bool = False
    where: Place | None = None


class Fallback(_Line, frozen=True):
    """An op ran on the CPU."""

    op: str
    cause: str
    reason: str
    at: float
    where: Place | None = None


class Source(_Line, frozen=True):
    """The text of a file of the user's program, as it was."""

    file: str
    text: str


class End(_Line, frozen=True):
    """The last line: `metrics.snapshot()`, and what recording cost. `left_out` are launches that have no line, of a run
    that had too many."""

    seconds: float
    metrics: dict[str, Any]
    recording_s: float = 0.0
    error: str = ""
    left_out: int = 0


AnyLine: TypeAlias = (
    Header | Graph | Kernel | Pass | Failure | Lines | Run | Launch | Copy | Memory | Sync | Fallback | Source | End
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


def encode(line: AnyLine) -> bytes:
    """A line of the record, with its line end."""
    return _encoder.encode(line) + b"\n"


def decode(text: bytes | str) -> AnyLine:
    """The thing that a line tells of. Raises msgspec.DecodeError."""
    return _decoder.decode(text)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    return msgspec.json.schema(AnyLine)
