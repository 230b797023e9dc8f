"""A failure's reproducer: a folder that `mlirdev repro` runs again in a fresh worker.

job.pickle     the job as the worker got it        job.txt     the same for a person (graph or MLIR)
error.txt      what happened                       versions.txt
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from importlib import metadata
from pathlib import Path

from mlirdev.compiler.cache import cache_folder
from mlirdev.compiler.fingerprint import code_fingerprint
from mlirdev.compiler.jobs import BackJob, FrontJob, Job, ProbeJob
from mlirdev.compiler.pool import pool
from mlirdev.errors import OptionError


def write(job: Job, error: BaseException) -> str:
    """Write the folder beside the cache; its path, or "" where nothing can be written."""
    folder = cache_folder() / "failures" / f"{job.name}-{_digest(job)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.pickle").write_bytes(pickle.dumps(job))
        (folder / "job.txt").write_text(_readable(job))
        (folder / "error.txt").write_text(f"{type(error).__name__}: {error}\n")
        (folder / "versions.txt").write_text(_versions())
    except OSError:
        return ""
    return str(folder)


def run(folder: Path) -> object:
    """Do a reproducer's job in a fresh worker: its result, or the exception that it ended with."""
    path = folder / "job.pickle"
    if not path.exists():
        raise OptionError(f"{folder} holds no job.pickle; give the folder that the error named")
    job = pickle.loads(path.read_bytes())
    (_, result), *_ = list(pool.run([job], lambda seconds, left: None))
    return result


def _digest(job: Job) -> str:
    """The same for the same job in every process."""
    return job.key[:12] if isinstance(job, BackJob) else hashlib.sha256(str(job.graph).encode()).hexdigest()[:12]


def _readable(job: Job) -> str:
    if isinstance(job, (FrontJob, ProbeJob)):
        return str(job.graph) + "\n"
    return str(job.source.text)


def _versions() -> str:
    names = ("torch", "torch-mlir", "llvmlite", "numpy")
    lines = [f"{name} {metadata.version(name)}" for name in names]
    return "\n".join([f"python {platform.python_version()}", *lines, f"mlirdev code {code_fingerprint()}", ""])
