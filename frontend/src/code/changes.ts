// What differs between two texts, for CodeMirror's merge view: whole lines by align.ts, words within them by its own diff.
import { Change, diff } from "@codemirror/merge";
import { align } from "./align";

// Words of a stretch are only looked for where there are few enough to see them.
const WORDS = { scanLimit: 400, timeout: 100 };
const MOST_CHARACTERS = 20_000;

export function changes(a: string, b: string): readonly Change[] {
  const [linesA, linesB] = [a.split("\n"), b.split("\n")];
  const [startsA, startsB] = [starts(linesA), starts(linesB)];
  const found: Change[] = [];
  let [at, bt] = [0, 0];
  for (const [nextA, nextB] of [...align(linesA, linesB), [linesA.length, linesB.length] as const]) {
    if (nextA > at || nextB > bt) {
      // Where lines are replaced, the line end behind them stays. Lines that only one side has take theirs with them, and at
      // the end of the text, where there is none behind them, the one before them.
      const isReplaced = nextA > at && nextB > bt;
      const isLast = nextA === linesA.length;
      const [before, behind] = [!isReplaced && isLast ? 1 : 0, isReplaced || isLast ? 1 : 0];
      const change = new Change(
        startsA[at]! - before,
        startsA[nextA]! - behind,
        startsB[bt]! - before,
        startsB[nextB]! - behind,
      );
      found.push(...words(a, b, change));
    }
    [at, bt] = [nextA + 1, nextB + 1];
  }
  return found;
}

/** The place where each line starts, and where one more would. */
function starts(lines: string[]): number[] {
  let place = 0;
  return [...lines.map((line) => (place += line.length + 1) - line.length - 1), place];
}

function words(a: string, b: string, { fromA, toA, fromB, toB }: Change): readonly Change[] {
  if (fromA === toA || fromB === toB || toA - fromA + toB - fromB > MOST_CHARACTERS)
    return [new Change(fromA, toA, fromB, toB)];
  return diff(a.slice(fromA, toA), b.slice(fromB, toB), WORDS).map(
    (change) => new Change(change.fromA + fromA, change.toA + fromA, change.fromB + fromB, change.toB + fromB),
  );
}
