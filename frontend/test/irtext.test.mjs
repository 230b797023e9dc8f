// Attributes are hidden as mlirdev/explore/irtext.py hides them, but for lines, which stay.
import assert from "node:assert/strict";
import test from "node:test";
import { bundled } from "./bundled.mjs";

const { functionsOf, withoutAttributes } = await bundled("code/irtext.ts");

test("attributes of MLIR", () => {
  const lines = {
    "linalg.map { arith.addf } ins(%a : f32)": "linalg.map { arith.addf } ins(%a : f32)",
    '"a.b"(%1) <{cache = 1 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()': '"a.b"(%1) : (!llvm.ptr) -> ()',
    "} {mlirdev.parallel}": "}",
    "llvm.func @wants() -> i64 attributes {a = {b = {}}} {": "llvm.func @wants() -> i64 {",
    "scf.for %i = %a to %b step %c {": "scf.for %i = %a to %b step %c {",
    '%0 = linalg.generic {names = ["a } b"]} ins(%a) {': "%0 = linalg.generic ins(%a) {",
  };
  assert.deepEqual(withoutAttributes(Object.keys(lines), "a.mlir"), Object.values(lines));
});

test("attributes of LLVM IR", () => {
  const lines = ["declare i64 @f(i64) #0", "  %1 = load i64, ptr %0, !tbaa !9", "attributes #0 = { nounwind }"];
  assert.deepEqual(withoutAttributes(lines, "a.ll"), ["declare i64 @f(i64)", "  %1 = load i64, ptr %0", ""]);
});

test("functions that have a body", () => {
  assert.deepEqual(functionsOf(["module {", "  func.func @f(%a: f32) {", "  func.func private @g(f32)"], "a.mlir"), [
    { name: "f", line: 2 },
  ]);
  assert.deepEqual(functionsOf(["declare void @g()", "define void @f(ptr %0) #1 {"], "a.ll"), [{ name: "f", line: 2 }]);
  assert.deepEqual(functionsOf([".LBB0_1:", "f:", "\tretq"], "a.s"), [{ name: "f", line: 2 }]);
});
