"""Graph → torch dialect → linalg on tensors.

    rewriter.py    Graph → Graph: each node is kept or replaced by simpler ones (decompose/, promotion)
    pairs.py       complex numbers as pairs of real ones, so that no later stage computes with them
    builder.py     Graph → torch dialect, one op per node; own/ emits linalg in place
    lower.py       torch-mlir's pipelines, and what tidies up after them
    table.py       every supported operator with its route

The package's name is a keyword: modules in here import each other relatively, everyone else goes
through mlirdev/importer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .context import new_context, to_linalg, to_torch_backend
from .lower import import_graph
from .table import register_decomposition, routes, unsupported
from .tidy import tidy

if TYPE_CHECKING:
    from mlirdev.importer import Import

    class _Checked:
        import_graph = staticmethod(import_graph)
        new_context = staticmethod(new_context)
        to_torch_backend = staticmethod(to_torch_backend)
        to_linalg = staticmethod(to_linalg)
        tidy = staticmethod(tidy)
        unsupported = staticmethod(unsupported)
        register_decomposition = staticmethod(register_decomposition)

    _checked: Import = _Checked()

__all__ = [
    "import_graph",
    "new_context",
    "register_decomposition",
    "routes",
    "tidy",
    "to_linalg",
    "to_torch_backend",
    "unsupported",
]
