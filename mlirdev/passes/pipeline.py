"""Pipelines as data, by name, by file, or as text: the door to `pipeline_file` and `pipeline_text`."""

from __future__ import annotations

from pathlib import Path

from mlirdev.errors import OptionError
from mlirdev.passes.pipeline_file import named_file, opened, pipeline_names, read_pipeline
from mlirdev.passes.pipeline_text import parse_pass_pipeline
from mlirdev.passes.registry import has_pass, installed_passes, nearest
from mlirdev.passes.steps import Pipeline, Step

__all__ = ["Pipeline", "Step", "expand", "load_pipeline", "opened", "pipeline_names"]


def load_pipeline(source: str) -> Pipeline:
    """The pipeline of this built-in name, YAML file, or pass-pipeline text. Raises OptionError."""
    if source.endswith((".yaml", ".yml")):
        return read_pipeline(Path(source))
    if source in pipeline_names():  # a long text is no file name
        return read_pipeline(named_file(source))
    if "(" in source or "," in source or has_pass(source) or source in installed_passes():
        return Pipeline("text", parse_pass_pipeline(source))
    raise OptionError(
        f"no pipeline '{source}'{nearest(source, pipeline_names())}; "
        f"built in: {', '.join(pipeline_names())}; or give a .yaml file or text such as func.func(canonicalize)"
    )


def expand(pipeline: Pipeline | str) -> tuple[str, ...]:
    """The steps as text, one each: what `--dump-pipeline` prints and what a cache key may hash."""
    steps = load_pipeline(pipeline).steps if isinstance(pipeline, str) else pipeline.steps
    return tuple(f"{step.kind}: {step}" for step in steps)
