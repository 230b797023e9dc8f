"""What tests of this folder share."""

from __future__ import annotations

from typing import Any

import pytest

from mlirdev import compiler
from mlirdev.events import SourceLine
from mlirdev.graph import Graph
from tests.compiler.programs import PROGRAMS, maker


@pytest.fixture(scope="session")
def graphs() -> list[Graph]:
    """What the programs are recorded as. A graph that was recorded before isn't looked for again: so once, for all."""
    seen: list[Graph] = []
    found = compiler.executable_for

    def keep(graph: Graph, where: SourceLine | None = None, **others: Any) -> compiler.Found:
        seen.append(graph)
        return found(graph, where, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "executable_for", keep)
        for program in PROGRAMS.values():
            program(maker("mlirdev")).cpu()
    return seen
