"""The Target: what is compiled for, as a frozen value that the compiler, the simulator and the explorer read.

A target file is YAML in `mlirdev/targets/`, or the user's own. `cpu: native` stands for the machine's own
processor, which `jit/` resolves.
"""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from mlirdev.errors import OptionError
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
    path = Path(name) if name.endswith((".yaml", ".yml")) else BUILTIN / f"{name}.yaml"
    if not path.exists():
        known = sorted(p.stem for p in BUILTIN.glob("*.yaml"))
        raise OptionError(f"no target '{name}'; built in: {', '.join(known)}; or give a .yaml file")
    try:
        data = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise OptionError(f"{path}: not YAML: {error}") from error
    return _from_mapping(path, data)


def _from_mapping(path: Path, data: Any) -> Target:
    if not isinstance(data, dict):
        raise OptionError(f"{path}: a target file is a mapping of keys to values")
    known = {f.name for f in fields(Target)}
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(str(key), sorted(known), n=1)
            raise OptionError(f"{path}: unknown key '{key}'" + (f"; did you mean '{close[0]}'?" if close else ""))
    data.setdefault("name", path.stem)
    if data.get("vendor"):
        data["vendor"] = load_vendor(str(data["vendor"]))
    if "pipelines" in data:
        data["pipelines"] = tuple(sorted(data["pipelines"].items()))
    return Target(**data)
