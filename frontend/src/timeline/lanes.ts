// The timeline's columns as lanes, sorted by time, and what lies where in them.
import type { Spans, Timeline } from "../data/types";

/** What a span is; the order is that of the colours in draw.ts. */
export const KINDS = ["record", "compile", "launch", "wait", "kernel", "copy", "lower"] as const;
export type Kind = (typeof KINDS)[number];

export interface Lane {
  name: string;
  at: Float64Array;
  seconds: Float64Array;
  kind: Uint8Array;
  what: Int32Array;
  where: Int32Array;
  run: Int32Array;
  /** The longest span, so that one that began before what is in sight is found. */
  longest: number;
}

/** One span, spelled out. */
export interface Item {
  lane: string;
  kind: Kind;
  what: string;
  where: string;
  at: number;
  seconds: number;
  run: number;
}

type Part = [Kind, Spans];

export function lanesOf(timeline: Timeline): Lane[] {
  const named: [string, Part[]][] = [
    [
      "host",
      [
        ["record", timeline.recorded],
        ["compile", timeline.compiled],
        ["launch", timeline.launched],
      ],
    ],
    ["waiting", [["wait", timeline.waits]]],
    ...byLane("worker", "lower", timeline.lowered),
    ...byLane("stream", "kernel", timeline.launches),
    ["copies", [["copy", timeline.copies]]],
  ];
  return named.map(([name, parts]) => lane(name, parts)).filter((made) => made.at.length);
}

/** "stream 0", "stream 1", …: each with its own spans. */
function byLane(name: string, kind: Kind, spans: Spans): [string, Part[]][] {
  const lanes = [...new Set(spans.lane)].sort((a, b) => a - b);
  return lanes.map((lane) => [`${name} ${lane}`, [[kind, ofLane(spans, lane)]]]);
}

function ofLane(spans: Spans, lane: number): Spans {
  const wanted = [...spans.lane.keys()].filter((k) => spans.lane[k] === lane);
  const pick = (of: number[]): number[] => wanted.map((k) => of[k]!);
  const { what, where, at, seconds, run } = spans;
  return {
    what: pick(what),
    where: pick(where),
    at: pick(at),
    seconds: pick(seconds),
    lane: pick(spans.lane),
    run: pick(run),
  };
}

function lane(name: string, parts: Part[]): Lane {
  const entries = parts.flatMap(([kind, spans]) => spans.at.map((at, k) => ({ kind, spans, k, at })));
  entries.sort((a, b) => a.at - b.at);
  const made: Lane = {
    name,
    at: Float64Array.from(entries, (e) => e.at),
    seconds: Float64Array.from(entries, (e) => e.spans.seconds[e.k]!),
    kind: Uint8Array.from(entries, (e) => KINDS.indexOf(e.kind)),
    what: Int32Array.from(entries, (e) => e.spans.what[e.k]!),
    where: Int32Array.from(entries, (e) => e.spans.where[e.k]!),
    run: Int32Array.from(entries, (e) => e.spans.run[e.k]!),
    longest: 0,
  };
  made.longest = made.seconds.reduce((most, spent) => Math.max(most, spent), 0);
  return made;
}

/** The first span that may reach into what begins at `from`. */
export function firstAt(lane: Lane, from: number): number {
  return lowerBound(lane.at, from - lane.longest);
}

/** The span at a moment, or the nearest within `slack` seconds; -1 for none. */
export function spanAt(lane: Lane, moment: number, slack: number): number {
  let best = -1;
  let distance = slack;
  for (let k = firstAt(lane, moment - slack); k < lane.at.length && lane.at[k]! <= moment + slack; k++) {
    const away = Math.max(lane.at[k]! - moment, moment - lane.at[k]! - lane.seconds[k]!, 0);
    if (away <= distance) [best, distance] = [k, away];
  }
  return best;
}

export function item(timeline: Timeline, lane: Lane, k: number): Item {
  return {
    lane: lane.name,
    kind: KINDS[lane.kind[k]!]!,
    what: timeline.names[lane.what[k]!] ?? "",
    where: timeline.places[lane.where[k]!] ?? "",
    at: lane.at[k]!,
    seconds: lane.seconds[k]!,
    run: lane.run[k]!,
  };
}

/** The longest spans in sight, over all lanes. */
export function longest(timeline: Timeline, lanes: Lane[], from: number, to: number, most: number): Item[] {
  let found: [Lane, number][] = [];
  let least = 0;
  for (const lane of lanes) {
    for (let k = firstAt(lane, from); k < lane.at.length && lane.at[k]! < to; k++) {
      if (lane.seconds[k]! <= least || lane.at[k]! + lane.seconds[k]! < from) continue;
      found.push([lane, k]);
      if (found.length < 4 * most) continue;
      found = top(found, most);
      least = found.at(-1)![0].seconds[found.at(-1)![1]]!;
    }
  }
  return top(found, most).map(([lane, k]) => item(timeline, lane, k));
}

function top(found: [Lane, number][], most: number): [Lane, number][] {
  return found.sort(([a, i], [b, k]) => b.seconds[k]! - a.seconds[i]!).slice(0, most);
}

export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
