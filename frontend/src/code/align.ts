// Which lines of two texts correspond. Lines that stand once in both are held first, as in patience diff: IR repeats itself,
// and a shortest edit of repeated lines joins what doesn't belong together. Between them, Myers' shortest edit.

export type Pairs = [a: number, b: number][];

// Beyond so many edits, a stretch counts as replaced: nobody reads such a difference line by line.
const MOST_EDITS = 800;

/** Pairs of equal lines, ascending in both. */
export function align(a: readonly string[], b: readonly string[]): Pairs {
  const numbers = new Map<string, number>();
  const number = (line: string): number => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
  const found: Pairs = [];
  between(a.map(number), 0, a.length, b.map(number), 0, b.length, found);
  return found;
}

function between(a: number[], fromA: number, toA: number, b: number[], fromB: number, toB: number, found: Pairs): void {
  while (fromA < toA && fromB < toB && a[fromA] === b[fromB]) found.push([fromA++, fromB++]);
  let same = 0;
  while (fromA < toA - same && fromB < toB - same && a[toA - same - 1] === b[toB - same - 1]) same++;
  const [endA, endB] = [toA - same, toB - same];
  if (fromA < endA && fromB < endB) {
    const anchors = unique(a, fromA, endA, b, fromB, endB);
    if (anchors.length) {
      let [at, bt] = [fromA, fromB];
      for (const [anchorA, anchorB] of anchors) {
        between(a, at, anchorA, b, bt, anchorB, found);
        found.push([anchorA, anchorB]);
        [at, bt] = [anchorA + 1, anchorB + 1];
      }
      between(a, at, endA, b, bt, endB, found);
    } else {
      shortest(a, fromA, endA, b, fromB, endB, found);
    }
  }
  for (let k = 0; k < same; k++) found.push([endA + k, endB + k]);
}

/** Lines that stand once in both stretches, as far as they are in the same order. */
function unique(a: number[], fromA: number, toA: number, b: number[], fromB: number, toB: number): Pairs {
  const inB = places(b, fromB, toB);
  const pairs: Pairs = [];
  for (const [line, at] of places(a, fromA, toA)) {
    const bt = inB.get(line);
    if (at >= 0 && bt !== undefined && bt >= 0) pairs.push([at, bt]);
  }
  return increasing(pairs.sort(([x], [y]) => x - y));
}

/** Where each line stands; -1 where it stands more than once. */
function places(lines: number[], from: number, to: number): Map<number, number> {
  const found = new Map<number, number>();
  for (let k = from; k < to; k++) found.set(lines[k]!, found.has(lines[k]!) ? -1 : k);
  return found;
}

/** The longest part that ascends in b too. */
function increasing(pairs: Pairs): Pairs {
  const ends: number[] = [];
  const before: number[] = [];
  for (const [k, [, b]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]!]![1] < b) low = middle + 1;
      else high = middle;
    }
    before[k] = low ? ends[low - 1]! : -1;
    ends[low] = k;
  }
  const found: Pairs = [];
  for (let k = ends.at(-1) ?? -1; k >= 0; k = before[k]!) found.push(pairs[k]!);
  return found.reverse();
}

function shortest(
  a: number[],
  fromA: number,
  toA: number,
  b: number[],
  fromB: number,
  toB: number,
  found: Pairs,
): void {
  const [n, m] = [toA - fromA, toB - fromB];
  const most = Math.min(n + m, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const trail: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach[most + k]! < reach[most + k + 2]!);
      let x = down ? reach[most + k + 2]! : reach[most + k]! + 1;
      while (x < n && x - k < m && a[fromA + x] === b[fromB + x - k]) x++;
      reach[most + k + 1] = x;
      if (x >= n && x - k >= m) {
        found.push(...back(trail, most, edits, n, m).map(([i, j]): [number, number] => [fromA + i, fromB + j]));
        return;
      }
    }
    trail.push(reach.slice());
  }
}

function back(trail: Int32Array[], most: number, edits: number, n: number, m: number): Pairs {
  const found: Pairs = [];
  let [x, y] = [n, m];
  for (let d = edits; d > 0; d--) {
    const reach = trail[d - 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && reach[most + k]! < reach[most + k + 2]!);
    const before = down ? k + 1 : k - 1;
    const startX = reach[most + before + 1]!;
    const startY = startX - before;
    while (x > startX && y > startY && x > (down ? startX : startX + 1)) found.push([--x, --y]);
    [x, y] = [startX, startY];
  }
  while (x > 0 && y > 0) found.push([--x, --y]);
  return found.reverse();
}
