"""Files edited by hand in place of what the pipeline made: they change the result, and nothing that is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from mlirdev import compiler
from mlirdev.compiler import overrides
from mlirdev.dump import is_as_dumped
from mlirdev.errors import OptionError
from mlirdev.lazy.host import run_in_memory
from mlirdev.options import options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from harness import Array, add_graph, run  # noqa: E402

X = np.arange(8, dtype=np.float32)


@pytest.fixture(autouse=True)
def inline(tmp_path: Path) -> Iterator[None]:
    """A cache folder of this test alone, and no workers."""
    compiler.set_host_executor(run_in_memory)
    with options.override(cache_dir=str(tmp_path / "cache"), compile="inline"):
        compiler.forget()
        yield
    compiler.forget()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    with options.override(dump=str(tmp_path / "dump")):
        added()
    compiler.forget()
    return tmp_path / "dump"


def added() -> Array:
    """x + 2.5, compiled."""
    return run(add_graph(8), [X], [2.5])[0][0]


def overridden(folder: Path) -> Array:
    compiler.forget()
    with options.override(override_dir=str(folder)):
        return added()


def edit(folder: Path, pattern: str, change: Callable[[str], str]) -> Path:
    (path,) = folder.glob(pattern)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    return path


def minus(text: str) -> str:
    return text.replace("arith.addf", "arith.subf").replace("fadd", "fsub").replace("vadd", "vsub")


def entries(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in folder.rglob("*") if path.is_file()}


def test_a_dump_that_wasnt_edited_changes_nothing(dump: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert all(is_as_dumped(path.read_text()) for path in dump.rglob("[0-9]*"))
    np.testing.assert_allclose(overridden(dump), X + 2.5)
    assert f"no file in {dump} was edited" in capfd.readouterr().err


@pytest.mark.parametrize(
    "pattern",
    [
        "g_????????/*-linalg-input.mlir",
        "g_????????/*-dispatch-separate-returned-values.mlir",
        "*elementwise*/000-kernel-input.mlir",
        "*elementwise*/*one-shot-bufferize.mlir",
        "*elementwise*/*llvm-ensure-debug*.mlir",
        "*elementwise*/*ll-entry.ll",
        "*elementwise*/*ll-optimize.ll",
    ],
)
def test_an_edited_file_is_used_and_said(dump: Path, pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    added()
    kept = entries(dump.parent / "cache")
    change: Callable[[str], str] = minus
    if "linalg-input" in pattern:
        change = lambda text: text.replace("torch.aten.add.Scalar", "torch.aten.sub.Scalar")  # noqa: E731
    path = edit(dump, pattern, change)
    np.testing.assert_allclose(overridden(dump), X - 2.5)
    said = capfd.readouterr().err
    assert said.count("is replaced by") == 1
    assert f"replaced by {path}" in said
    assert entries(dump.parent / "cache") == kept
    np.testing.assert_allclose(added(), X + 2.5)
    assert not overrides.unused()


@pytest.mark.skipif(sys.platform != "linux", reason="edits x86 instructions")
def test_assembly_is_assembled(dump: Path) -> None:
    path = next(dump.glob("*elementwise*/*asm-codegen.s"))
    if "vadd" not in path.read_text():
        pytest.skip("the processor has no AVX")
    edit(dump, "*elementwise*/*asm-codegen.s", minus)
    np.testing.assert_allclose(
        np.abs(overridden(dump)), np.abs(X - 2.5)
    )  # which of the operands is subtracted, LLVM chose


INPUT, ENTRY = "*/000-kernel-input.mlir", "*/*ll-entry.ll"


@pytest.mark.parametrize(
    ("pattern", "before", "after", "message"),
    [
        (INPUT, "arith.addf", "arith.madf", r"000-kernel-input.mlir:\d+:\d+: .*arith"),
        (INPUT, "8xf32", "9xf32", r"@kernel is .*9xf32.*, but here it must be .*8xf32"),
        (INPUT, "@kernel", "@main", "it defines no @kernel"),
        (INPUT, "return", "// __elided__\nreturn", "large constants were shortened"),
        (
            "*/*plan-workspace.mlir",
            "mlirdev.workspace",
            "mlirdev.space",
            "lacks the attri",
        ),
        (ENTRY, "fadd", "fudd", r"ll-entry.ll:\d+:\d+: "),
        (ENTRY, "@mlirdev_", "@other_", "it defines no @mlirdev_"),
        ("*/*asm-codegen.s", "mlirdev_", "other_", "it defines no mlirdev_"),
        ("g_????????/000-graph-recorded.txt", "return", "// x\nreturn", "can't be replaced: the graph is what"),
    ],
)
def test_what_cant_be_used_is_refused(dump: Path, pattern: str, before: str, after: str, message: str) -> None:
    edit(dump, pattern, lambda text: text.replace(before, after))
    with pytest.raises(OptionError, match=message):
        overridden(dump)


def test_a_pass_that_fails_on_the_edited_text_blames_the_file(dump: Path) -> None:
    path = edit(dump, "*/*llvm-keep-expm1.mlir", lambda t: t.replace("arith.addf", '"what.add"'))
    with pytest.raises(OptionError, match=f"{path}.*"):
        overridden(dump)


def test_a_file_of_no_stage_is_refused_with_the_nearest(dump: Path) -> None:
    (path,) = dump.glob("*/*one-shot-bufferize.mlir")
    path.write_text(minus(path.read_text()))
    path.rename(path.with_name("003-kernel-one-shot-bufferise.mlir"))
    with pytest.raises(OptionError, match=r"no stage is called so; the nearest is .*one-shot-bufferize.mlir"):
        overridden(dump)


def test_a_folder_of_no_graph_is_told(dump: Path) -> None:
    (path,) = dump.glob("*/000-kernel-input.mlir")
    path.write_text(minus(path.read_text()))
    path.parent.rename(dump / "g_00000000-elementwise-00000000")
    compiler.forget()
    with options.override(override_dir=str(dump)):
        np.testing.assert_allclose(added(), X + 2.5)
        (line,) = overrides.unused()
    assert "compiles no graph or kernel 'g_00000000-elementwise-00000000'; the nearest is g_" in line


def test_folders_are_checked(dump: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no folder"):
        overridden(tmp_path / "nothing")
    with (
        options.override(override_dir=str(dump), dump=str(dump)),
        pytest.raises(OptionError, match="would write over the files"),
    ):
        added()
