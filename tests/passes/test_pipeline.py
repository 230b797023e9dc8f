"""Pipelines as data: YAML files and pass-pipeline text, checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlirdev.errors import OptionError
from mlirdev.passes.pipeline import Step, expand, load_pipeline, parse_pass_pipeline, pipeline_names

PIN = "pin-contraction-operands"


@pytest.mark.parametrize("name", pipeline_names())
def test_built_in_pipelines_load(name: str) -> None:
    pipeline = load_pipeline(name)
    assert pipeline.steps
    assert pipeline.help
    assert len(expand(name)) == len(pipeline.steps)


def test_file_with_every_kind_of_step(tmp_path: Path) -> None:
    (tmp_path / "own.mlir").write_text("module {}")
    (tmp_path / "tidy.yaml").write_text("- mlir: func.func(cse)")
    file = tmp_path / "all.yaml"
    file.write_text(
        f"""
help: all kinds
legal: [llvm]
steps:
- pass: {PIN}
- pass: canonicalize
- mlir: func.func(canonicalize,cse)
- transform: own.mlir
- python: tests.passes.test_registry:sample_pass
  options: {{rows: 4}}
- pipeline: tidy
"""
    )
    pipeline = load_pipeline(str(file))
    assert pipeline.legal == ("llvm",)
    assert [step.kind for step in pipeline.steps] == ["pass", "mlir", "mlir", "transform", "python", "mlir"]
    assert pipeline.steps[4].options == (("rows", 4),)
    assert pipeline.steps[3].text == str(tmp_path / "own.mlir")


def test_edits_of_another_pipeline(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("legal: [llvm]\nsteps: [{mlir: 'func.func(cse,canonicalize),cse'}]")
    file = tmp_path / "mine.yaml"
    file.write_text(
        """
extends: base
edits:
- {before: canonicalize, steps: [{mlir: symbol-dce}]}
- {after: 'cse#2', steps: [{mlir: strip-debuginfo}, {mlir: inline}]}
- {remove: 'cse#1'}
- {replace: inline, steps: [{mlir: sccp}]}
"""
    )
    pipeline = load_pipeline(str(file))
    assert [step.name for step in pipeline.steps] == ["symbol-dce", "canonicalize", "cse", "strip-debuginfo", "sccp"]
    assert pipeline.steps[1].text == "func.func(canonicalize)"
    assert pipeline.legal == ("llvm",)
    assert pipeline.steps[0].origin == f"{file}:4"


def test_edited_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("- mlir: cse")
    assert expand(str(file)) == ("mlir: cse",)
    file.write_text("- mlir: canonicalize")
    assert expand(str(file)) == ("mlir: canonicalize",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- pass", r"bad.yaml:1: 'steps.0' is 'pass', and must be of type object"),
        ("- {pass: cse, mlir: cse}", "exactly one of"),
        ("- {pas: cse}", "unknown key 'pas'; did you mean 'pass'"),
        ("{step: []}", "unknown key 'step'; did you mean 'steps'"),
        ("{steps: [], legl: []}", "unknown key 'legl'; did you mean 'legal'"),
        ("steps: [", "not YAML"),
        ("- transform: generalise_data_movement.mlir", "did you mean 'generalize_data_movement.mlir'"),
        (f"- {{pass: {PIN}, options: {{rows: 1}}}}", "no option 'rows'"),
        ("- {mlir: cse}\n- {mlir: cse, options: {rows: 1}}", "bad.yaml:2: step 'mlir: cse' takes no options here"),
        ("help: nothing", "holds a list of steps"),
        ("steps: []\nedits: [{remove: cse}]", "bad.yaml:2: `edits` need `extends`"),
        ("extends: kernel\nsteps: [{mlir: cse}]", "bad.yaml:2: a pipeline that extends another has `edits`"),
        ("extends: kernel\nedits:\n- {before: canonicalise}", "bad.yaml:3: an edit of kind 'before' needs `steps`"),
        ("extends: kernel\nedits:\n- {remove: csx}", "bad.yaml:3: no pass 'csx' in it; did you mean 'cse'"),
        ("extends: kernel\nedits:\n- {remove: cse}", r"'cse' stands \d+ times in it; say which, as in cse#1"),
        ("extends: kernel\nedits:\n- {remove: 'cse#99'}", "there is no 'cse#99'"),
        ("extends: bad", "includes itself"),
        ("- pipeline: bad", "includes itself"),
        ("- pipeline: grph", "no pipeline 'grph'; did you mean 'graph'"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(OptionError, match=message):
        load_pipeline(str(file))


def test_missing_file() -> None:
    with pytest.raises(OptionError, match="can't be read"):
        load_pipeline("no/such.yaml")


def test_text_of_upstream_passes_stays_whole() -> None:
    text = "func.func(canonicalize,cse),symbol-dce"
    assert parse_pass_pipeline(text) == (Step("mlir", text),)
    assert parse_pass_pipeline(f"builtin.module({text})") == (Step("mlir", text),)


def test_text_mixes_ours_and_upstream() -> None:
    steps = parse_pass_pipeline(f"builtin.module(cse,{PIN},func.func(canonicalize{{max-iterations=2}},un{PIN},cse))")
    assert steps == (
        Step("mlir", "cse"),
        Step("pass", PIN),
        Step("mlir", "func.func(canonicalize{max-iterations=2})"),
        Step("pass", f"un{PIN}"),
        Step("mlir", "func.func(cse)"),
    )


def test_text_with_a_transform_file() -> None:
    step = parse_pass_pipeline("transform(generalize_data_movement.mlir)")[0]
    assert step.kind == "transform"
    assert Path(step.text).exists()


@pytest.mark.parametrize("text", ["func.func(cse", "cse)", "cse,(x)", f"{PIN}{{rows=1}}", f"{PIN}{{rows}}"])
def test_mistakes_in_text(text: str) -> None:
    with pytest.raises(OptionError):
        parse_pass_pipeline(text)


def test_name_that_is_no_pipeline() -> None:
    with pytest.raises(OptionError, match="did you mean 'graph'"):
        load_pipeline("grapf")
