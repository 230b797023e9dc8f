"""Running pipelines: order, observers, what MLIR's errors become, legality at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch_mlir import ir

from mlirdev.errors import OptionError, PassError
from mlirdev.passes.lower import kernel_context
from mlirdev.passes.pipeline import Pipeline, Step
from mlirdev.passes.runner import run_pipeline
from mlirdev.target import Target, load_target

TARGET = load_target("host")
TEXT = """
func.func @f(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  %1 = arith.addf %a, %a : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}
"""


def parsed(text: str = TEXT) -> ir.Module:
    with kernel_context(), ir.Location.unknown():
        return ir.Module.parse(text)


def rename(module: ir.Module, target: Target, *, name: str = "g") -> None:
    """Rename the function."""
    module.body.operations[0].operation.attributes["sym_name"] = ir.StringAttr.get(name)


def break_it(module: ir.Module, target: Target) -> None:
    """Leave a return of the wrong type."""
    module.body.operations[0].operation.attributes["function_type"] = ir.TypeAttr.get(ir.Type.parse("(f32) -> f64"))


def fail(module: ir.Module, target: Target) -> None:
    """Raise."""
    raise KeyError("oops")


def here(function: Callable[..., None]) -> Step:
    return Step("python", f"{__name__}:{function.__name__}")


def test_steps_run_in_order_and_are_observed() -> None:
    seen: list[Any] = []
    pipeline = Pipeline("p", (Step("mlir", "func.func(cse)"), Step("python", here(rename).text, (("name", "h"),))))
    module = parsed()
    run_pipeline(module, pipeline, TARGET, lambda *event: seen.append((*event[:2], event[2](), event[3])), stage="s")
    assert [event[:2] for event in seen] == [("s", "func.func(cse)"), ("s", f"{here(rename).text}{{name=h}}")]
    assert seen[0][2].count("arith.addf") == 1
    assert "@f" in seen[0][2]
    assert "@h" in seen[1][2]
    assert all(event[3] >= 0 for event in seen)


def test_same_result_with_and_without_an_observer() -> None:
    text = "func.func(cse),func.func(canonicalize),symbol-dce"
    watched, alone = parsed(), parsed()
    run_pipeline(watched, text, TARGET, lambda *event: None)
    run_pipeline(alone, text, TARGET)
    assert str(watched) == str(alone)


def test_unknown_upstream_pass_is_found_before_anything_ran() -> None:
    module = parsed()
    with pytest.raises(OptionError, match="'canonicalise' does not refer to a registered pass"):
        run_pipeline(module, Pipeline("p", (here(rename), Step("mlir", "canonicalise"))), TARGET)
    assert "@f" in str(module)


def test_function_that_cannot_be_imported_is_found_before_anything_ran() -> None:
    module = parsed()
    with pytest.raises(OptionError, match="can't be imported"):
        run_pipeline(module, Pipeline("p", (here(rename), Step("python", "no.such:thing"))), TARGET)
    assert "@f" in str(module)


def test_failing_upstream_pass_brings_its_diagnostics() -> None:
    module = parsed("func.func @f(%a: memref<4xf32>) -> index { %c = arith.constant 0 : index return %c : index }")
    with pytest.raises(PassError, match="Module does not conform to the linalg-on-tensors backend contract"):
        run_pipeline(module, "torch-verify-linalg-on-tensors-backend-contract,cse", TARGET)


def test_what_remains_illegal_is_counted() -> None:
    with pytest.raises(PassError, match=r"only llvm may remain, but there is: 1 arith\.addf, 1 arith\.mulf"):
        run_pipeline(parsed(), Pipeline("p", (Step("mlir", "func.func(cse)"),), ("llvm",)), TARGET, stage="llvm")


def test_python_pass_that_raises() -> None:
    with pytest.raises(PassError, match="fail' of stage 'pipeline' failed: KeyError: 'oops'"):
        run_pipeline(parsed(), Pipeline("p", (here(fail),)), TARGET)


def test_python_pass_that_leaves_invalid_ir() -> None:
    with pytest.raises(PassError, match="type of return operand 0"):
        run_pipeline(parsed(), Pipeline("p", (here(break_it),)), TARGET)


def test_transform_file_that_does_not_match(tmp_path: Any) -> None:
    file = tmp_path / "t.mlir"
    file.write_text(
        """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op) {
    %x = transform.structured.match ops{["func.func"]} in %m : (!transform.any_op) -> !transform.any_op
    %y = transform.structured.generalize %x : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}"""
    )
    with pytest.raises(PassError, match=r"t\.mlir"):
        run_pipeline(parsed(), Pipeline("p", (Step("transform", str(file)),)), TARGET)


def test_legal_ops_pass() -> None:
    run_pipeline(parsed(), Pipeline("p", (Step("mlir", "func.func(cse)"),), ("func", "arith")), TARGET)
