"""The Target: what is compiled for, as a frozen value that the compiler, the simulator and the explorer read.

    targets/NAME.yaml, a path, or an installed package's ─ extends, assignments ─► load_target ─► Target

`cpu: native` stands for the machine's own processor, which `jit/` resolves. The JSON Schema of target files is
`json_schema()`; an unknown key or a wrong value is an error with its line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import structs

from mlirdev.chip import Amount, Calls, Devices, DTypes, HostLink, Memory, Natural, Part, Size, Units
from mlirdev.described import KeyPath, is_file, known_names, read_described, schema_of, structured
from mlirdev.dtypes import DType
from mlirdev.errors import OptionError
from mlirdev.nearest import remedy
from mlirdev.vendor import load_vendor

BUILTIN = Path(__file__).parent / "targets"
STAGES = ("graph", "kernel", "llvm")


class Llvm(Part, frozen=True):
    """What LLVM makes code for; `vector_bits` is the preferred vector width (0: the widest there is)."""

    triple: str = "native"
    cpu: str = "native"
    features: str = "native"
    vector_bits: Natural = 0


class Caches(Part, frozen=True):
    """Sizes of a core's caches, which steer tile sizes."""

    l1: Size = 32 * 1024
    l2: Size = 1024 * 1024


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chip: what code is made from (`llvm`, `caches`, `vendor`, `pipelines`), and what a simulated clock reads. With
    a `clock_mhz` of 0 there is no such clock. `pipelines` names the pipeline of each stage, `vendor` a library that may
    be called in place of generated code."""

    name: str = ""
    schema: Literal[1] = 1
    help: str = ""
    llvm: Llvm = Llvm()
    caches: Caches = Caches()
    vendor: str = ""
    pipelines: Mapping[str, str] = msgspec.field(default_factory=lambda: {stage: stage for stage in STAGES})
    clock_mhz: Amount = 0.0
    device: Devices = Devices()
    units: Units = Units()
    memory: Mapping[str, Memory] = {}
    host_link: HostLink | None = None
    launch: Calls = Calls()
    dtypes: DTypes = DTypes()

    def __hash__(self) -> int:  # of what can be hashed, and tells most targets apart
        return hash((self.name, self.llvm))

    @property
    def is_resolved(self) -> bool:
        return "native" not in (self.llvm.triple, self.llvm.cpu, self.llvm.features) and self.llvm.vector_bits > 0

    def has(self, feature: str) -> bool:
        """Whether LLVM's features name this one as present."""
        return f"+{feature}" in self.llvm.features.split(",")

    @property
    def vector_width(self) -> int:
        """Bits of the vectors that schedules are written for: `vector_bits`, or 256 where that is open."""
        return self.llvm.vector_bits or 256

    def lanes(self, bits: int) -> int:
        """How many elements of so many bits such a vector holds."""
        return max(self.vector_width // bits, 1)

    @property
    def fingerprint(self) -> str:
        """A hash of all fields and of the vendor's, for cache keys."""
        return _fingerprint(msgspec.json.encode(self, order="deterministic"), self.vendor)

    def pipeline(self, stage: str) -> str:
        """The name of the pipeline that a stage runs."""
        return self.pipelines[stage]

    def with_llvm(self, **changes: Any) -> Target:
        """The target with some of `llvm`'s fields replaced."""
        return structs.replace(self, llvm=structs.replace(self.llvm, **changes))


def load_target(name: str, *assignments: str) -> Target:
    """The target of this built-in or installed name or YAML file, with "key.key=value" assigned on top.

    Raises OptionError for an unknown name or key, a wrong value, or a bad file.
    """
    described = read_described("target", name, BUILTIN, assignments)
    target = structured(described, Target)
    wrong = [f"{described.where(at)}: {what}" for at, what in _wrong(target)]
    if wrong:
        raise OptionError("\n".join(wrong))
    pipelines = {stage: _beside(described.path, pipeline) for stage, pipeline in target.pipelines.items()}
    return structs.replace(target, name=target.name or described.name, pipelines=pipelines)


def target_names() -> list[str]:
    """The built-in targets, and those that installed packages bring."""
    return known_names("target", BUILTIN)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a target file."""
    return schema_of(Target)


def _wrong(target: Target) -> Iterator[tuple[KeyPath, str]]:
    """What no field by itself tells to be wrong."""
    for stage in target.pipelines:
        if stage not in STAGES:
            yield ("pipelines", stage), f"no stage '{stage}'; {remedy(stage, STAGES)}"
    for stage in STAGES:
        if stage not in target.pipelines:
            yield ("pipelines",), f"the stage '{stage}' has no pipeline; to use the usual one: {stage}: {stage}"
    yield from _wrong_types(target)
    for name, memory in target.memory.items():
        if target.clock_mhz and not memory.gbps and not memory.bytes_per_cycle:
            yield ("memory", name), f"memory '{name}' has no speed; give it gbps or bytes_per_cycle"
        if memory.gbps and memory.bytes_per_cycle:
            yield ("memory", name), f"memory '{name}' has both gbps and bytes_per_cycle; give it one"


def _wrong_types(target: Target) -> Iterator[tuple[KeyPath, str]]:
    known = [dtype.value for dtype in DType]
    matrix = target.units.matrix
    named: list[tuple[KeyPath, str]] = [
        *((("dtypes", "legal", i), name) for i, name in enumerate(target.dtypes.legal)),
        *((("dtypes", "emulated", name), name) for name in target.dtypes.emulated),
        *((("dtypes", "emulated", k), name) for k, name in target.dtypes.emulated.items() if name != "native"),
        *((("units", "matrix", "macs", name), name) for name in (matrix.macs if matrix else ())),
    ]
    for at, name in named:
        if name not in known:
            yield at, f"no element type '{name}'; {remedy(name, known)}"


def _beside(file: Path, pipeline: str) -> str:
    """A pipeline's file is looked for beside the target's, so that both can be moved."""
    beside = file.parent / pipeline
    return str(beside) if is_file(pipeline) and beside.exists() else pipeline


@lru_cache
def _fingerprint(data: bytes, vendor: str) -> str:
    described = repr(load_vendor(vendor)) if vendor else ""
    return hashlib.sha256(data + described.encode()).hexdigest()[:16]
