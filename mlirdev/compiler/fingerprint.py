"""Cache keys hold the code: editing a pass, a schedule or the target is a miss, not a stale kernel."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from mlirdev.compiler.chosen import pipelines_fingerprint
from mlirdev.graph import Graph
from mlirdev.target import Target

PACKAGE = Path(__file__).resolve().parent.parent
_CODE = ("import", "passes", "jit", "compiler", "targets", "vendors")
_LEAVES = ("dtypes.py", "graph.py", "plan.py", "sizes.py", "target.py", "vendor.py", "importer.py")
_VERSIONS = ("torch-mlir", "llvmlite", "torch")


@lru_cache
def code_fingerprint() -> str:
    """A hash of the compiler's own files and of the versions that it is built on."""
    digest = hashlib.sha256()
    files = [PACKAGE / leaf for leaf in _LEAVES]
    for room in _CODE:
        files += [p for p in (PACKAGE / room).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    for path in sorted(files):
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    for name in _VERSIONS:
        digest.update(f"{name}={metadata.version(name)};".encode())
    return digest.hexdigest()[:24]


def kernel_key(source_key: str, kind: str, target: Target) -> str:
    """The key of a kernel's object in memory and on disk; also its symbol's suffix."""
    return _hash("kernel", source_key, kind, _compiler(target))


def graph_key(graph: Graph, target: Target) -> str:
    """The key of a graph's plan in memory and on disk."""
    return _hash("graph", str(graph), _compiler(target))


@lru_cache
def _compiler(target: Target) -> str:
    return f"{target.fingerprint} {pipelines_fingerprint(target)} {code_fingerprint()}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def clear() -> None:
    """Read the code again when a key is next made."""
    code_fingerprint.cache_clear()
    _compiler.cache_clear()
