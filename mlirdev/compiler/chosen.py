"""The target and pipelines that the options choose, and a hash of all that these refer to.

`MLIRDEV_PIPELINE` holds `stage=pipeline` pairs, comma-separated: "graph=mine.yaml,kernel=scalar"; a pipeline
without a stage is the kernel pipeline.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from msgspec import structs

from mlirdev.described import is_file
from mlirdev.errors import OptionError
from mlirdev.jit import check_vendor, resolve_target
from mlirdev.options import options, split_list
from mlirdev.passes.pipeline import Step, load_pipeline
from mlirdev.target import Target, load_target
from mlirdev.vendor import load_vendor

# Modules whose functions a worker can't import: their passes run in this process.
_MAIN = "__main__"


def chosen_target() -> Target:
    """The target of the options, for this machine, with the vendor and the pipelines of the options."""
    target = _with_vendor(_resolved(options.target, *split_list(options.target_set)), options.vendor)
    return _with_pipelines(target, options.pipeline) if options.pipeline else target


def pipelines_fingerprint(target: Target) -> str:
    """A hash of the target's pipelines: their steps, transform files and the code of passes from elsewhere."""
    digest = hashlib.sha256()
    for step in _steps(target):
        digest.update(f"{step.kind}:{step};".encode())
        for path in _files(step):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def needs_this_process(target: Target) -> bool:
    """Whether a pass lives in the program's own script or notebook, which no worker can import."""
    return any(step.kind == "python" and step.text.startswith(f"{_MAIN}:") for step in _steps(target))


def _resolved(name: str, *assignments: str) -> Target:
    return resolve_target(load_target(name, *assignments))


@lru_cache
def _with_vendor(target: Target, name: str) -> Target:
    if name:
        target = structs.replace(target, vendor=name)
    if target.vendor:
        check_vendor(load_vendor(target.vendor))
    return target


@lru_cache
def _with_pipelines(target: Target, text: str) -> Target:
    pipelines = dict(target.pipelines)
    for item in text.split(","):
        stage, _, name = item.rpartition("=")
        stage = stage.strip() or "kernel"
        if stage not in pipelines:
            raise OptionError(f"no stage '{stage}' in pipeline '{text}'; stages: {', '.join(pipelines)}")
        load_pipeline(name.strip())
        pipelines[stage] = name.strip()
    return structs.replace(target, pipelines=pipelines)


def _steps(target: Target) -> list[Step]:
    return [step for name in target.pipelines.values() for step in load_pipeline(name).steps]


def _files(step: Step) -> list[Path]:
    """The files that a step's meaning depends on, beyond our own code."""
    if step.kind == "transform":
        return [Path(step.text)]
    vendor = str(dict(step.options).get("vendor"))
    if step.kind == "pass" and is_file(vendor):
        return [Path(vendor)]
    if step.kind != "python":
        return []
    name = step.text.partition(":")[0]
    spec = None if name == _MAIN else find_spec(name.partition(".")[0])
    if spec is None or spec.origin is None:
        return []
    if spec.submodule_search_locations:
        return sorted(p for folder in spec.submodule_search_locations for p in Path(folder).rglob("*.py"))
    return [Path(spec.origin)]
