// Values are numbered anew after every pass. To see what else has changed, the later text is shown with the names of the
// earlier one, where their lines correspond.
import { align } from "./align";
import { suffixOf } from "./languages";

interface Names {
  /** A name. */
  name: RegExp;
  /** What comes after a name, or all that comes before it on its line, where the name is defined. */
  after: RegExp;
  before: RegExp;
}

const NEVER = /(?!)/;
const NAMES: Record<string, Names> = {
  mlir: { name: /%[\w$.-]+|\^bb\d+|#map\d*\b/g, after: /^(?: = |: |:\d+ = |, %\w+ = )/, before: /^\s*$/ },
  ll: { name: /%[\w$.-]+|^[\w$.-]+(?=:)/g, after: /^(?: = |:)/, before: NEVER },
  s: { name: /\.L[A-Za-z_]+[\d_]*/g, after: /^:/, before: NEVER },
  txt: { name: /%\d+/g, after: /^: /, before: NEVER },
};

/**
 * The lines of b with the names of a. Where a use is of another value than in a, it stays another; a name that means something
 * else in a gets a prime.
 */
export function withNamesOf(a: readonly string[], b: readonly string[], file: string): string[] {
  const names = NAMES[suffixOf(file)];
  if (!names) return [...b];
  const bare = (line: string): string => line.replace(names.name, (name) => (/^\w/.test(name) ? "" : name[0]!));
  const pairs = align(a.map(bare), b.map(bare));
  const inA = new Map(pairs.map(([at, bt]) => [bt, (a[at]!.match(names.name) ?? []).map(keyOf)]));
  const taken = new Set([...inA.values()].flat());
  const called = new Map<string, string>();
  return b.map((line, bt) => {
    const theirs = inA.get(bt);
    let k = 0;
    return line.replace(names.name, (name, ...rest: unknown[]) => {
      const start = rest.find((one) => typeof one === "number") as number;
      const key = keyOf(name);
      const wanted = theirs?.[k++];
      const isDefined = names.after.test(line.slice(start + name.length)) || names.before.test(line.slice(0, start));
      if (wanted !== undefined && (isDefined || !called.has(key))) called.set(key, wanted);
      else if (isDefined || !called.has(key)) called.set(key, taken.has(key) ? `${key}′` : key);
      return `${name.startsWith("%") ? "%" : ""}${called.get(key)}`;
    });
  });
}

/** What a name is called where it is used and where it is defined: LLVM IR's labels have their % only where they are used. */
function keyOf(name: string): string {
  return name.replace(/^%/, "");
}
