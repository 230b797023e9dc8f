"""What passes and pipelines there are: the lists that `mlirdev opt` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirdev.target import Target


def passes(as_json: bool) -> str:
    """Every pass: what it does, options, the op it runs on, and whose it is."""
    from mlirdev.passes.upstream import all_passes

    found = all_passes()
    if as_json:
        return json.dumps([p.as_data() for p in found], indent=2)
    lines = []
    for p in found:
        lines.append(f"{p.name}  [{p.anchor}, {p.whose}]\n    {p.help}")
        lines += [f"    {name}={value}" for name, value in p.options]
    return "\n".join(lines)


def pipelines(as_json: bool) -> str:
    """The built-in pipelines and what they do."""
    from mlirdev.passes.pipeline import load_pipeline, pipeline_names

    named = {name: load_pipeline(name).help for name in pipeline_names()}
    return json.dumps(named, indent=2) if as_json else "\n".join(f"{name:24} {text}" for name, text in named.items())


def pipeline(name: str, target: Target, as_json: bool) -> str:
    """A pipeline as a file that can be changed and used: what the target names for this stage, else the pipeline of
    this name; included pipelines put in, upstream passes one a step, every option with its value."""
    from mlirdev.dump import pipeline_yaml
    from mlirdev.events import ComingPass
    from mlirdev.passes.pipeline import load_pipeline, opened
    from mlirdev.passes.upstream import in_full

    found = load_pipeline(target.pipelines.get(name, name))
    steps = [in_full(step) for step in opened(found.steps)]
    if as_json:
        data = [{"kind": step.kind, "text": step.text, "options": dict(step.options)} for step in steps]
        return json.dumps({"help": found.help, "legal": list(found.legal), "steps": data}, indent=2)
    coming = tuple(ComingPass(step.kind, step.text, step.options) for step in steps)
    return pipeline_yaml(coming, found.legal).rstrip()
