"""One foreign library, one home; and the import linter's contracts see the folder whose name is a keyword."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mlirdev"
HOMES = {
    "torch": ("backend/", "dynamo/", "lazy/"),
    "torch_mlir": ("import/", "passes/"),
    "llvmlite": ("jit/",),
}


def imports(node: ast.AST) -> Iterator[str]:
    """The top-level packages that a module imports at run time, inside functions too."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.split(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from imports(child)


@pytest.mark.parametrize("library", HOMES)
def test_foreign_libraries_have_one_home(library: str) -> None:
    strangers = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if library in imports(ast.parse(path.read_text()))
        and not path.relative_to(PACKAGE).as_posix().startswith(HOMES[library])
    ]
    assert not strangers


def test_type_checking_imports_are_no_imports() -> None:
    tree = ast.parse("if TYPE_CHECKING:\n    import torch\ndef f():\n    import llvmlite.binding")
    assert set(imports(tree)) == {"llvmlite"}


def test_importing_the_package_loads_no_compiler_and_no_torch() -> None:
    """Autoload runs inside every `import torch`."""
    code = "import sys, mlirdev; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert {"torch", "torch_mlir", "llvmlite", "rich", "click"}.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("module", ["mlirdev.import.context", "mlirdev.import"])
def test_the_linter_sees_the_folder_import(module: str) -> None:
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("mlirdev", cache_dir=None)
    assert module in graph.modules
    assert "mlirdev.events" in graph.find_modules_directly_imported_by("mlirdev.import.context")
