"""What `mlirdev show OUT WHAT --json` prints, as types; their fields are the keys."""

from __future__ import annotations

from typing import Any

import msgspec

from mlirdev import schema
from mlirdev.explore.causes import OnCpu, Wait
from mlirdev.explore.facts import GraphDetail, GraphFacts, LaunchFacts
from mlirdev.explore.linefacts import LineFacts, SourceFacts
from mlirdev.explore.roofline import KernelFacts
from mlirdev.explore.steps import Step
from mlirdev.explore.summary import Summary
from mlirdev.explore.views.passes import Match, StageText
from mlirdev.explore.views.timeline import MemoryFacts, Timeline

TYPES: dict[str, Any] = {
    "summary": Summary,
    "failures": list[schema.Failure],
    "syncs": list[Wait],
    "fallbacks": list[OnCpu],
    "graphs": list[GraphFacts],
    "graph": GraphDetail,
    "runs": list[schema.Run],
    "kernels": list[KernelFacts],
    "kernel": KernelFacts,
    "launches": list[LaunchFacts],
    "passes": list[Step],
    "pass": StageText,
    "search": list[Match],
    "timeline": Timeline,
    "memory": MemoryFacts,
    "source": list[SourceFacts],
    "lines": LineFacts,
    "page": dict[str, str],
}


def schema_of(what: str) -> dict[str, Any]:
    """The JSON Schema of what a view prints, or of the record's lines for "record"."""
    return schema.json_schema() if what == "record" else msgspec.json.schema(TYPES[what])
