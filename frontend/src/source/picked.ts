// What is picked in the source view, by a line of the program or of IR.
import { type Nodes, type Relation, sizeOf } from "../data/relation";

/** What is picked: lines of the program, or nodes by way of a line of IR. `said` is why a line leads nowhere. */
export interface Picked {
  /** The lines that the address asked for then. */
  asked: string;
  nodes: Nodes;
  lines: readonly number[];
  said?: string;
}

const NO_OP = "no op is on that line";
const NO_ORIGIN = "that op doesn't say what it comes from";

/** The nodes of lines of a file, as they stand in the address: "12,14". */
export function ofLines(relation: Relation, file: string, asked: string): Picked {
  const lines = asked
    .split(",")
    .map(Number)
    .filter((line) => line > 0);
  const nodes = relation.nodesAt(file, new Set(lines));
  return { asked, nodes, lines, ...(lines.length && !sizeOf(nodes) ? { said: "this line recorded nothing" } : {}) };
}

/** Nodes, with a word where none of the file's lines recorded them. */
export function ofNodes(relation: Relation, file: string, nodes: Nodes): Omit<Picked, "asked"> {
  if (relation.linesOf(file, nodes).length) return { nodes, lines: [] };
  const places = [...relation.spotsOf(nodes)].map((spot) => `${spot.file}:${spot.line}`);
  return {
    nodes,
    lines: [],
    said: places.length ? `it comes from ${places.join(", ")}` : "no line of the program is known for it",
  };
}

/** Why a line of IR leads nowhere: null means that no op is on it. */
export function whyNot(found: ReadonlySet<number> | null): string {
  return found ? NO_ORIGIN : NO_OP;
}
