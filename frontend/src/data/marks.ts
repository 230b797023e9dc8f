// What the lines of a step's text stand for: nodes in a graph's, ordinals in a kernel's.
import type { Owner } from "./store";

/** null: no op is on the line; empty: its op doesn't say. */
export type Mark = readonly number[] | null;

const known = new WeakMap<Owner, Map<number, Mark[]>>();

/** The marks of a step's lines. */
export function marksOf(owner: Owner, step: number): Mark[] {
  const text = owner.passes.text_of[owner.steps.findIndex(({ number }) => number === step)] ?? -1;
  const ours = known.get(owner) ?? new Map<number, Mark[]>();
  known.set(owner, ours);
  const found = ours.get(text) ?? unpack(owner.passes.marks[text] ?? [], owner.passes.sets);
  ours.set(text, found);
  return found;
}

function unpack(repeats: number[], sets: (number[] | null)[]): Mark[] {
  const marks: Mark[] = [];
  for (let k = 0; k < repeats.length; k += 2) {
    for (let n = repeats[k + 1]!; n > 0; n--) marks.push(sets[repeats[k]!]!);
  }
  return marks;
}

/** The lines, from 1, that stand for any of these. */
export function linesWith(marks: Mark[], wanted: ReadonlySet<number>): number[] {
  const found: number[] = [];
  for (const [at, mark] of marks.entries()) if (mark?.some((ordinal) => wanted.has(ordinal))) found.push(at + 1);
  return found;
}

/** All that these lines, from 1, stand for. */
export function ordinalsAt(marks: Mark[], lines: Iterable<number>): Set<number> {
  const found = new Set<number>();
  for (const line of lines) for (const ordinal of marks[line - 1] ?? []) found.add(ordinal);
  return found;
}
