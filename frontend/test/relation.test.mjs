// From lines to nodes, launches and ordinals, and back.
import assert from "node:assert/strict";
import test from "node:test";
import { bundled } from "./bundled.mjs";

const { nodesOf, ordinalsOf, Relation, within } = await bundled("data/relation.ts");

// A kernel k, for nodes 0 and 1, then 2 and 3, of a graph that was reached in two ways; node 4 has no kernel.
const spot = (line) => ({ file: "a.py", line, function: "f", seconds: 0 });
const relation = new Relation({
  places: [5, 6, 7, 8].map(spot),
  ways: [
    { id: 0, graph: "g", places: [0, 1, 0, 1, 2] },
    { id: 1, graph: "g", places: [0, 1, 0, 3, 2] },
  ],
  graphs: {
    g: {
      nodes: ["n0", "n1", "n2", "n3", "n4"],
      launches: [
        { kernel: "k", nodes: [0, 0, 1] },
        { kernel: "k", nodes: [2, 2, 3] },
      ],
      fates: { 4: "folded away by cse (linalg)" },
    },
  },
  runs: [
    { number: 0, graph: "g", way: 0, cause: "value", at: 0, seconds: [1, 2] },
    { number: 1, graph: "g", way: 1, cause: "value", at: 1, seconds: [4, null] },
  ],
});

test("a line has the nodes of all ways, and a node its lines", () => {
  assert.deepEqual(relation.nodesAt("a.py", new Set([6])), new Map([["g", new Set([1, 3])]]));
  assert.deepEqual(relation.nodesAt("a.py", new Set([8])), new Map([["g", new Set([3])]]));
  assert.deepEqual(relation.linesOf("a.py", new Map([["g", new Set([3])]])), [6, 8]);
  assert.deepEqual(relation.linesOf("b.py", new Map([["g", new Set([3])]])), []);
});

test("uses have the time of all runs", () => {
  const uses = relation.usesOf(new Map([["g", new Set([0, 2])]]));
  assert.deepEqual(
    uses.map(({ index, times, seconds }) => [index, times, seconds]),
    [
      [0, 2, 5],
      [1, 1, 2],
    ],
  );
});

test("a use narrows ordinals and nodes", () => {
  const nodes = relation.nodesAt("a.py", new Set([6]));
  const uses = relation.usesOf(nodes);
  assert.deepEqual(ordinalsOf(uses, nodes), new Set([2]));
  assert.deepEqual(nodesOf(uses, new Set([0])), new Map([["g", new Set([0, 2])]]));
  assert.deepEqual(within(uses[1], nodes), new Map([["g", new Set([3])]]));
});

test("a node without a kernel has a fate", () => {
  const nodes = relation.nodesAt("a.py", new Set([7]));
  assert.deepEqual(relation.usesOf(nodes), []);
  assert.deepEqual(relation.fates(nodes), [{ graph: "g", node: 4, fate: "folded away by cse (linalg)" }]);
});
