// What the difference of two texts is made from: lines that correspond, changes between them, and names.
import assert from "node:assert/strict";
import test from "node:test";
import { bundled, random } from "./bundled.mjs";

const { align } = await bundled("code/align.ts");
const { changes } = await bundled("code/changes.ts");
const { withNamesOf } = await bundled("code/names.ts");

function longest(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table[0][0];
}

test("pairs are of equal lines, ascend, and are nearly as many as can be", () => {
  const pick = random(1);
  const lines = () => Array.from({ length: pick(9) }, () => "abc"[pick(3)]);
  let short = 0;
  for (let n = 0; n < 5000; n++) {
    const [a, b] = [lines(), lines()];
    const pairs = align(a, b);
    for (const [k, [at, bt]] of pairs.entries()) {
      assert.equal(a[at], b[bt]);
      if (k) assert.ok(pairs[k - 1][0] < at && pairs[k - 1][1] < bt);
    }
    if (pairs.length < longest(a, b)) short++;
  }
  assert.ok(short < 250, `${short} of 5000 are not the longest`);
});

test("a line that stands once is held, whatever is around it", () => {
  assert.deepEqual(align(["x", "}", "one", "}"], ["}", "}", "one", "y", "}"]), [
    [1, 1],
    [2, 2],
    [3, 4],
  ]);
});

test("between changes, both texts are the same", () => {
  const pick = random(2);
  const text = () => Array.from({ length: pick(7) }, () => ["ab", "a", "", "bb c"][pick(4)]).join("\n");
  for (let n = 0; n < 5000; n++) {
    const [a, b] = [text(), text()];
    let [at, bt] = [0, 0];
    for (const { fromA, toA, fromB, toB } of [...changes(a, b), { fromA: a.length, toA: 0, fromB: b.length, toB: 0 }]) {
      assert.ok(at <= fromA && bt <= fromB);
      assert.equal(a.slice(at, fromA), b.slice(bt, fromB));
      [at, bt] = [toA, toB];
    }
  }
});

const BEFORE = [
  "func.func @f(%arg0: f32) {",
  "  %0 = a.x %arg0 : f32",
  "  %1 = a.y %0 : f32",
  "  %2 = a.z %1, %0 : f32",
  "}",
];

test("values that are numbered anew have their former names, and new ones a prime", () => {
  const after = [BEFORE[0], BEFORE[1], "  %1 = a.new %0 : f32", "  %2 = a.y %0 : f32", "  %3 = a.z %2, %0 : f32", "}"];
  assert.deepEqual(withNamesOf(BEFORE, after, "a.mlir"), [
    BEFORE[0],
    BEFORE[1],
    "  %1′ = a.new %0 : f32",
    ...BEFORE.slice(2),
  ]);
});

test("a use of another value stays a difference", () => {
  const after = [BEFORE[0], BEFORE[1], "  %1 = a.new %0 : f32", "  %2 = a.y %1 : f32", "  %3 = a.z %2, %0 : f32", "}"];
  assert.equal(withNamesOf(BEFORE, after, "a.mlir")[3], "  %1 = a.y %1′ : f32");
  const swapped = [...BEFORE.slice(0, 3), "  %2 = a.z %0, %1 : f32", "}"];
  assert.deepEqual(withNamesOf(BEFORE, swapped, "a.mlir"), swapped);
});

test("labels of LLVM IR and assembly are names too", () => {
  const llvm = ["define void @f(ptr %0) {", "  br label %2", "2:", "  ret void"];
  const later = ["define void @f(ptr %0) {", "  br label %7", "7:", "  ret void"];
  assert.deepEqual(withNamesOf(llvm, later, "a.ll"), llvm);
  assert.deepEqual(withNamesOf([".LBB0_1:", "\tjmp\t.LBB0_1"], [".LBB0_4:", "\tjmp\t.LBB0_4"], "a.s"), [
    ".LBB0_1:",
    "\tjmp\t.LBB0_1",
  ]);
});
