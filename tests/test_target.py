from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev.errors import OptionError
from mlirdev.target import BUILTIN, Target, load_target


def test_every_built_in_target_loads() -> None:
    for path in BUILTIN.glob("*.yaml"):
        target = load_target(path.stem)
        assert target.name == path.stem
        assert {stage for stage, _ in target.pipelines} == {"graph", "kernel", "llvm"}


def test_native_is_not_resolved() -> None:
    assert not Target("x").is_resolved
    assert Target("x", triple="riscv64-unknown-elf", cpu="generic", features="+v", vector_bits=256).is_resolved


def test_the_fingerprint_holds_every_field() -> None:
    assert Target("x").fingerprint == Target("x").fingerprint
    assert Target("x", l1_bytes=1).fingerprint != Target("x", l1_bytes=2).fingerprint


def test_a_file_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("vector_bits: 256\npipelines: {kernel: tiled, graph: graph, llvm: llvm}\n")
    target = load_target(str(file))
    assert (target.name, target.vector_bits, target.pipeline("kernel")) == ("mine", 256, "tiled")


@pytest.mark.parametrize(
    ("text", "said"),
    [("vectorbits: 1", "did you mean 'vector_bits'"), ("- a", "a mapping"), ("a: [", "not YAML")],
)
def test_a_wrong_file_says_what_and_the_nearest(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(OptionError, match=said):
        load_target(str(file))


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(OptionError, match=r"built in: .*host"):
        load_target("hots")
