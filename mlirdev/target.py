"""The Target: what is compiled for, as a frozen value that the compiler, the simulator and the explorer read.

A target file is YAML in `mlirdev/targets/`, or the user's own. `cpu: native` stands for the machine's own
processor, which `jit/` resolves.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path

from mlirdev.described import read_described
from mlirdev.vendor import Vendor, load_vendor

BUILTIN = Path(__file__).parent / "targets"


@dataclass(frozen=True, slots=True)
class Target:
    """A chip. `triple`, `cpu` and `features` are LLVM's; `vector_bits` is the preferred vector width;
    cache sizes are in bytes and steer tile sizes; `vendor` is a library that may be called in place of generated code
    (in a file: its name); `pipelines` names the pipeline of each stage."""

    name: str
    triple: str = "native"
    cpu: str = "native"
    features: str = "native"
    vector_bits: int = 0
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 1024 * 1024
    vendor: Vendor | None = None
    pipelines: tuple[tuple[str, str], ...] = field(default=(("graph", "graph"), ("kernel", "kernel"), ("llvm", "llvm")))

    @property
    def is_resolved(self) -> bool:
        return "native" not in (self.triple, self.cpu, self.features) and self.vector_bits > 0

    def has(self, feature: str) -> bool:
        """Whether LLVM's features name this one as present."""
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_width(self) -> int:
        """Bits of the vectors that schedules are written for: `vector_bits`, or 256 where that is open."""
        return self.vector_bits or 256

    def lanes(self, bits: int) -> int:
        """How many elements of so many bits such a vector holds."""
        return max(self.vector_width // bits, 1)

    @property
    def fingerprint(self) -> str:
        """A hash of all fields, for cache keys."""
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()[:16]

    def pipeline(self, stage: str) -> str:
        """The name of the pipeline that a stage runs."""
        return dict(self.pipelines)[stage]


@lru_cache
def load_target(name: str) -> Target:
    """The target of this built-in name or YAML file. Raises OptionError for an unknown name, key or bad file."""
    path, data = read_described("target", name, BUILTIN, [f.name for f in fields(Target)])
    data.setdefault("name", path.stem)
    if data.get("vendor"):
        data["vendor"] = load_vendor(str(data["vendor"]))
    if "pipelines" in data:
        data["pipelines"] = tuple(sorted(data["pipelines"].items()))
    return Target(**data)
