"""In a notebook: lines name cell and line, a cell run twice compiles nothing new, reports render inline."""

from __future__ import annotations

import pytest

from tests.end_to_end.conftest import Program

pytestmark = pytest.mark.slow  # many processes, each of which loads PyTorch

PRELUDE = """
from IPython.core.interactiveshell import InteractiveShell
import mlirdev
shell = InteractiveShell.instance()
def cell(text):
    return shell.run_cell(text, store_history=True)
"""


def test_a_cell_run_twice_compiles_nothing_new(program: Program) -> None:
    code = (
        PRELUDE
        + """
cell("import torch\\nx = torch.arange(6.0).to('mlirdev')")
counts = []
for _ in range(3):
    cell("y = torch.tanh(x * 2)\\nz = y.sum().item()")
    counts.append(mlirdev.metrics.snapshot()["compiles"] + mlirdev.metrics.snapshot()["graph_disk_hits"])
print(counts)
"""
    )
    done = program(code)
    assert done.stdout == "[1, 1, 1]\n", done.stderr


def test_lines_name_the_cell_and_the_line_in_it(program: Program) -> None:
    code = (
        PRELUDE
        + """
cell("import torch\\ntable = torch.ones(3, 2).to('mlirdev')\\nbad = torch.tensor([5]).to('mlirdev')")
cell("# two lines\\nrows = torch.nn.functional.embedding(bad, table)")
print("told:", cell("rows.cpu()").error_in_exec)
cell("total = (table + 1).sum()\\ntotal.item()")
print(mlirdev.explain())
"""
    )
    done = program(code)
    assert "told: index 5 is out of bounds" in done.stdout
    assert "recorded at Cell In[2]:2" in done.stdout
    assert "Cell In[4]:2: item: once" in done.stdout


def test_reports_render_inline(program: Program) -> None:
    code = (
        PRELUDE
        + """
cell("import torch\\nx = (torch.ones(3).to('mlirdev') + 1).sum().item()")
from IPython.core.formatters import DisplayFormatter
for report in (mlirdev.metrics.report(), mlirdev.explain()):
    data, _ = DisplayFormatter(parent=shell).format(report)
    print(sorted(data), "graphs" in data["text/html"], "item" in data["text/html"])
"""
    )
    done = program(code)
    assert done.stdout == "['text/html', 'text/plain'] True True\n" * 2, done.stderr
