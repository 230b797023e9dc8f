"""A reproducer: a folder of text that says how a graph or a kernel fails, here and on another machine.

    graph.txt or kernel.mlir   what was compiled, as text that parses again; beside a kernel: what it computes
    job.json                   which of the two, the kernel's signature, how it failed, scalars
    target.json                the target as it was resolved; pipelines/ has those that aren't built in
    inputs.npz                 the inputs' bytes, where values matter (numpy's format, without pickles)
    error.txt                  what happened                      versions.txt

Nothing in it is run by reading it. Its pipelines may name code that isn't ours (`python:` passes, a vendor's library),
which is then imported or loaded from the machine that it runs on: `foreign_code` says which.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from msgspec import structs

from mlirdev.compiler.cache import cache_folder
from mlirdev.compiler.fingerprint import code_fingerprint
from mlirdev.compiler.jobs import BackJob, Job, ProbeJob
from mlirdev.compiler.pool import pool
from mlirdev.dtypes import DType
from mlirdev.dump import pipeline_yaml
from mlirdev.errors import OptionError
from mlirdev.events import ComingPass
from mlirdev.graph import Graph
from mlirdev.graph_text import parse_graph
from mlirdev.passes.kernel_source import KernelSource
from mlirdev.passes.pipeline import Step, load_pipeline, pipeline_names
from mlirdev.plan import BufferParam, DimParam, Param, ScalarParam, Signature
from mlirdev.target import Target

FORMAT = 1
# How something fails: its process dies, a result differs from PyTorch's, an error is raised, it takes too long.
Failure = Literal["crash", "wrong", "error", "slow"]


@dataclass(frozen=True)
class Reproducer:
    """What a folder holds. `inputs` are the graph's inputs as bytes, empty where any will do; `scalars` those of the
    graph; `lines` the places in the user's program that its nodes come from, as far as they are known; `part` the nodes
    that a kernel computes, as a graph."""

    subject: Graph | KernelSource
    target: Target
    name: str
    fails: Failure = "error"
    error: str = ""
    inputs: tuple[bytes, ...] = ()
    scalars: tuple[float | int | bool, ...] = ()
    lines: dict[int, str] = field(default_factory=dict)
    part: Graph | None = None


# --- writing --------------------------------------------------------------------------------------


def write(job: Job, error: BaseException, part: Graph | None = None) -> str:
    """Write the folder of a compile job that failed beside the cache; its path, or "" where nothing can be written.
    `part` is what a kernel computes."""
    subject = job.source if isinstance(job, BackJob) else job.graph
    crashed = type(error).__name__ == "WorkerDied"
    text = f"{type(error).__name__}: {error}"
    return keep(Reproducer(subject, job.target, job.name, "crash" if crashed else "error", text, part=part))


def keep(reproducer: Reproducer) -> str:
    """Write a folder beside the cache; its path, or "" where nothing can be written."""
    digest = hashlib.sha256(f"{text_of(reproducer.subject)}{reproducer.fails}".encode()).hexdigest()[:12]
    folder = cache_folder() / "failures" / f"{reproducer.name}-{digest}"
    try:
        save(reproducer, folder)
    except OSError:
        return ""
    return str(folder)


def save(reproducer: Reproducer, folder: Path) -> None:
    """Write the folder. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    subject = reproducer.subject
    (folder / ("graph.txt" if isinstance(subject, Graph) else "kernel.mlir")).write_text(text_of(subject))
    if reproducer.part is not None:
        (folder / "graph.txt").write_text(text_of(reproducer.part))
    (folder / "job.json").write_text(json.dumps(_described(reproducer), indent=1) + "\n")
    target = structs.replace(reproducer.target, pipelines=_kept_pipelines(reproducer.target, folder))
    (folder / "target.json").write_bytes(msgspec.json.format(msgspec.json.encode(target), indent=1) + b"\n")
    (folder / "error.txt").write_text(reproducer.error + "\n")
    (folder / "versions.txt").write_text(_versions())
    if reproducer.inputs:
        arrays = {f"input{i}": np.frombuffer(data, np.uint8) for i, data in enumerate(reproducer.inputs)}
        np.savez_compressed(folder / "inputs.npz", allow_pickle=False, **arrays)


def text_of(subject: Graph | KernelSource) -> str:
    """A graph's or kernel's text, which parses again."""
    return f"{subject}\n" if isinstance(subject, Graph) else subject.text


def _described(reproducer: Reproducer) -> dict[str, Any]:
    subject = reproducer.subject
    described: dict[str, Any] = {
        "format": FORMAT,
        "name": reproducer.name,
        "fails": reproducer.fails,
        "scalars": reproducer.scalars,
        "lines": reproducer.lines,
    }
    if isinstance(subject, KernelSource):
        signature = {
            "params": [_param_text(p) for p in subject.signature.params],
            "results": [_param_text(p) for p in subject.signature.results],
            "dims": subject.signature.dims,
        }
        described["kernel"] = {"key": subject.key, "kind": subject.kind, **signature}
    return described


def _param_text(param: Param) -> str:
    if isinstance(param, BufferParam):
        return "x".join([*("?" if d is None else str(d) for d in param.shape), param.dtype.value])
    return f"scalar {param.kind}" if isinstance(param, ScalarParam) else "size"


def _kept_pipelines(target: Target, folder: Path) -> dict[str, str]:
    """The target's pipelines, those of files written into the folder with the transform files that they name."""
    kept = dict(target.pipelines)
    for stage, name in target.pipelines.items():
        if name in pipeline_names():
            continue
        inside = folder / "pipelines"
        inside.mkdir(exist_ok=True)
        pipeline = load_pipeline(name)
        coming = tuple(_coming(step, inside) for step in pipeline.steps)
        (inside / f"{stage}.yaml").write_text(pipeline_yaml(coming, pipeline.legal))
        kept[stage] = f"pipelines/{stage}.yaml"
    return kept


def _coming(step: Step, inside: Path) -> ComingPass:
    text = step.text
    if step.kind == "transform":
        text = Path(shutil.copy(text, inside)).name
    return ComingPass(step.kind, text, step.options)


def _versions() -> str:
    names = ("torch", "torch-mlir", "llvmlite", "numpy")
    lines = [f"{name} {metadata.version(name)}" for name in names]
    return "\n".join([f"python {platform.python_version()}", *lines, f"mlirdev code {code_fingerprint()}", ""])


# --- reading --------------------------------------------------------------------------------------


def is_reproducer(folder: Path) -> bool:
    """Whether a folder was written by `save`."""
    return (folder / "job.json").is_file()


def load(folder: Path) -> Reproducer:
    """What a folder holds. Raises OptionError for one that isn't, or is no longer, a reproducer."""
    if not is_reproducer(folder):
        raise OptionError(f"{folder} holds no job.json; give the folder that the error named")
    try:
        described = json.loads((folder / "job.json").read_text())
        target = msgspec.json.decode((folder / "target.json").read_bytes(), type=Target)
        if described["format"] != FORMAT or described["fails"] not in get_args(Failure):
            raise OptionError(f"{folder} is of another version of mlirdev; versions.txt there says which")
        subject = _subject(folder, described)
        error = (folder / "error.txt").read_text().strip()
        return Reproducer(
            subject=subject,
            target=_found(target, folder),
            name=described["name"],
            fails=described["fails"],
            error=error,
            inputs=_inputs(folder),
            scalars=tuple(described["scalars"]),
            part=_part(folder, described),
            lines={int(node): line for node, line in described["lines"].items()},
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(f"{folder} is damaged: {type(error).__name__}: {error}") from error


def versions_of(folder: Path) -> list[str]:
    """A line for each version that isn't the present one's."""
    path = folder / "versions.txt"
    then = path.read_text().splitlines() if path.exists() else []
    now = dict(line.rsplit(" ", 1) for line in _versions().splitlines())
    made = dict(line.rsplit(" ", 1) for line in then if " " in line)
    return [f"{name} was {made[name]} and is {now[name]}" for name in now if made.get(name, now[name]) != now[name]]


def foreign_code(target: Target) -> list[str]:
    """The code that isn't ours which compiling for a target imports or loads."""
    steps = [step for name in target.pipelines.values() for step in load_pipeline(name).steps]
    found = [f"python: {step.text}" for step in steps if step.kind == "python"]
    vendors = {target.vendor, *(str(dict(step.options).get("vendor", "")) for step in steps)} - {""}
    return [*found, *(f"the library of {vendor}" for vendor in sorted(vendors))]


def run(folder: Path) -> object:
    """Do a compile job again in a fresh worker: its result, or the exception that it ended with."""
    return outcome(load(folder))


def outcome(reproducer: Reproducer) -> object:
    """What compiling does in a worker: the result, or the exception. A graph's kernels are compiled too."""
    subject, target = reproducer.subject, reproducer.target
    job: Job
    if isinstance(subject, Graph):
        job = ProbeJob(subject, target)
    else:
        job = BackJob(subject, subject.key, target, reproducer.name)
    return pool.do(job)


def _subject(folder: Path, described: dict[str, Any]) -> Graph | KernelSource:
    if "kernel" not in described:
        path = folder / "graph.txt"
        return parse_graph(path.read_text(), str(path))
    kernel = described["kernel"]
    params = tuple(map(_param, kernel["params"]))
    results = tuple(p for p in map(_param, kernel["results"]) if isinstance(p, BufferParam))
    signature = Signature(params, results, tuple(kernel["dims"]))
    return KernelSource(kernel["key"], kernel["kind"], (folder / "kernel.mlir").read_text(), signature)


def _part(folder: Path, described: dict[str, Any]) -> Graph | None:
    path = folder / "graph.txt"
    return parse_graph(path.read_text(), str(path)) if "kernel" in described and path.exists() else None


def _param(text: str) -> Param:
    if text == "size":
        return DimParam()
    if text.startswith("scalar "):
        return ScalarParam(text.removeprefix("scalar "))
    dtype = next(d for d in sorted(DType, key=lambda d: -len(d.value)) if text.endswith(d.value))
    dims = text.removesuffix(dtype.value).rstrip("x")
    return BufferParam(tuple(None if d == "?" else int(d) for d in dims.split("x") if d), dtype)


def _found(target: Target, folder: Path) -> Target:
    """The target with the paths of its pipelines as seen from here."""
    pipelines = {
        stage: str(folder / name) if name.startswith("pipelines/") else name for stage, name in target.pipelines.items()
    }
    return structs.replace(target, pipelines=pipelines)


def _inputs(folder: Path) -> tuple[bytes, ...]:
    path = folder / "inputs.npz"
    if not path.exists():
        return ()
    with np.load(path, allow_pickle=False) as arrays:
        return tuple(arrays[f"input{i}"].tobytes() for i in range(len(arrays.files)))
