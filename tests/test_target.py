from __future__ import annotations

import pickle
from pathlib import Path

import jsonschema
import pytest
import yaml

from mlirdev.errors import OptionError
from mlirdev.target import BUILTIN, Llvm, Target, json_schema, load_target

CHIP = """
extends: host
clock_mhz: 1000
memory:
  dram: {size: 4GiB, gbps: 64, latency_ns: 200}
  spad: {size: 256KiB, bytes_per_cycle: 128, scope: core, space: 1}
units:
  matrix: {tile: [16, 16, 16], macs: {bf16: 4096, f32: 256}}
"""


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_every_built_in_target_loads_and_fits_the_schema() -> None:
    for path in BUILTIN.glob("*.yaml"):
        target = load_target(path.stem)
        assert target.name == path.stem
        assert target.help
        assert set(target.pipelines) == {"graph", "kernel", "llvm"}
        jsonschema.validate(yaml.safe_load(path.read_text()), json_schema())


def test_native_is_not_resolved() -> None:
    assert not Target("x").is_resolved
    resolved = Llvm(triple="riscv64-unknown-elf", cpu="generic", features="+v", vector_bits=256)
    assert Target("x", llvm=resolved).is_resolved


def test_the_fingerprint_holds_every_field() -> None:
    assert Target("x").fingerprint == Target("x").fingerprint
    assert Target("x").fingerprint != Target("x").with_llvm(vector_bits=128).fingerprint
    assert Target("x", vendor="libtorch").fingerprint != Target("x").fingerprint
    assert len({Target("x"), Target("x"), Target("x", clock_mhz=5)}) == 2


def test_a_file_of_the_user(tmp_path: Path) -> None:
    target = load_target(
        write(tmp_path, "llvm: {vector_bits: 256}\npipelines: {kernel: tiled, graph: graph, llvm: llvm}\n")
    )
    assert (target.name, target.llvm.vector_bits, target.pipeline("kernel")) == ("mine", 256, "tiled")


def test_a_chip(tmp_path: Path) -> None:
    target = load_target(write(tmp_path, CHIP))
    assert target.memory["dram"].size == 4 * 2**30
    assert target.memory["spad"].scope == "core"
    assert target.units.matrix is not None
    assert target.units.matrix.macs["bf16"] == 4096
    assert pickle.loads(pickle.dumps(target)) == target


def test_a_target_extends_another_and_is_changed_from_outside(tmp_path: Path) -> None:
    write(tmp_path, CHIP, "base.yaml")
    file = write(tmp_path, "extends: base.yaml\nmemory: {dram: {gbps: 128}}\n")
    target = load_target(file)
    assert (target.name, target.clock_mhz) == ("mine", 1000)
    assert (target.memory["dram"].gbps, target.memory["dram"].latency_ns) == (128, 200)
    changed = load_target(file, "memory.dram.gbps=240", "units.matrix.macs.bf16=1", "memory.spad.size=1MiB")
    assert (changed.memory["dram"].gbps, changed.memory["spad"].size) == (240, 2**20)
    assert changed.fingerprint != target.fingerprint


def test_a_pipeline_lies_beside_its_target(tmp_path: Path) -> None:
    write(tmp_path, "[{mlir: canonicalize}]", "k.yaml")
    target = load_target(write(tmp_path, "pipelines: {graph: graph, kernel: k.yaml, llvm: llvm}"))
    assert target.pipeline("kernel") == str(tmp_path / "k.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nclockmhz: 1", r"mine.yaml:2: unknown key 'clockmhz'; did you mean 'clock_mhz'"),
        ("memory:\n  dram:\n    gbsp: 3", r"mine.yaml:3: unknown key 'gbsp'; did you mean 'gbps'"),
        ("memory:\n  dram: {gbps: fast}", r"mine.yaml:2: 'memory.dram.gbps' is 'fast', and must be of type number"),
        ("memory: {dram: {scope: cor}}", r"mine.yaml:1: unknown scope 'cor'; did you mean 'core'"),
        ("units: {matrix: {macs: {bf61: 4}}}", r"mine.yaml:1: no element type 'bf61'; did you mean 'bf16'"),
        ("clock_mhz: 1\nmemory: {dram: {size: 1}}", r"mine.yaml:2: memory 'dram' has no speed"),
        ("pipelines: {kernel: kernel}", r"mine.yaml:1: the stage 'graph' has no pipeline"),
        ("pipelines: {kernl: kernel}", r"mine.yaml:1: no stage 'kernl'; did you mean 'kernel'"),
        ("caches: {l1: 32KB}", r"mine.yaml:1: 'caches.l1' is '32KB'; write a number, or one with a unit"),
        ("schema: 2", r"mine.yaml:1: unknown schema '2'; there are: 1"),
        ("extends: mine.yaml", r"extends itself"),
        ("extends: hots", r"no target 'hots'"),
        ("- a", "a mapping"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_file_says_what_where_and_the_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        load_target(write(tmp_path, text))


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("clok_mhz=3", r"'clok_mhz=3': unknown key 'clok_mhz'; did you mean 'clock_mhz'"),
        ("clock_mhz", "must be key.key=value"),
        ("name.first=x", "'name' is a value"),
        ("llvm.vector_bits=wide", "'llvm.vector_bits' is 'wide', and must be of type integer"),
    ],
)
def test_a_wrong_assignment_says_what(assignment: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        load_target("host", assignment)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(OptionError, match=r"built in: .*host"):
        load_target("hots")
