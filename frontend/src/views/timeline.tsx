// What happened when: the host, the streams, copies and memory. #timeline?from=0.5&to=0.7, or ?run=12.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Timeline as Columns } from "../data/types";
import { moment, plural, seconds } from "../format";
import { go, href, link, type Route } from "../router";
import { draw, LABEL, laneAt, momentAt, type Pointed, type Sight } from "../timeline/draw";
import { item, type Item, type Lane, lanesOf, longest, spanAt } from "../timeline/lanes";
import { component, type ViewProps } from "../ui/component";
import { useKeys } from "../ui/keys";
import { Loaded } from "../ui/loaded";
import { Empty, Place } from "../ui/parts";
import { type Column, Table } from "../ui/table";
import { useWidth } from "../ui/width";
import { useRedrawn } from "../theme";

function Timeline({ app, route }: ViewProps): JSX.Element {
  return (
    <Loaded of="timeline" load={() => app.data.timeline()}>
      {(timeline) => <Whole timeline={timeline} route={route} trace={app.data.page.trace} />}
    </Loaded>
  );
}

function Whole({ timeline, route, trace }: { timeline: Columns; route: Route; trace: string }): JSX.Element {
  const lanes = useMemo(() => lanesOf(timeline), [timeline]);
  const sight = sightOf(route, timeline);
  const rows = useMemo(() => longest(timeline, lanes, sight.from, sight.to, 100), [lanes, sight.from, sight.to]);
  if (!lanes.length) return <Empty title="Nothing happened">No graph was launched and nothing was copied.</Empty>;
  const isAll = sight.from === 0 && sight.to === timeline.seconds;
  return (
    <div class="page wide">
      <h1>Timeline</h1>
      <p class="soft">
        {isAll
          ? `${seconds(timeline.seconds)} in all. `
          : `${seconds(sight.to - sight.from)} from ${moment(sight.from, (sight.to - sight.from) / 10)} on, of ${seconds(timeline.seconds)}. `}
        {!isAll && <a href={href("timeline")}>All of it</a>}{" "}
        <span class="dim">Drag to look closer; w s a d zoom and move.</span>{" "}
        {trace && (
          <>
            <a href={trace}>{trace}</a>{" "}
            <span class="dim">beside this page has it for Perfetto or chrome://tracing.</span>
          </>
        )}
      </p>
      {timeline.cut && <p class="bad">{timeline.cut}</p>}
      <Picture timeline={timeline} lanes={lanes} sight={sight} />
      <h2>
        The longest in sight <span class="note">{plural(rows.length, "span")}</span>
      </h2>
      <Table
        label="longest spans"
        rows={rows}
        columns={COLUMNS}
        id={(r) => `${r.lane} ${r.at} ${r.what}`}
        href={leads}
      />
    </div>
  );
}

function Picture({ timeline, lanes, sight }: { timeline: Columns; lanes: Lane[]; sight: Sight }): JSX.Element {
  const [root, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const theme = useRedrawn();
  useLayoutEffect(
    () => draw(canvas.current!, width, timeline, lanes, sight, pointed),
    [width, lanes, sight.from, sight.to, pointed, theme],
  );
  useKeys({ element: () => canvas.current, key: (key) => moved(key, sight, timeline) });
  useEffect(() => setPointed(null), [sight.from, sight.to]);

  const xOf = (event: PointerEvent): number =>
    Math.max(LABEL, event.clientX - canvas.current!.getBoundingClientRect().left);
  const onMove = (event: PointerEvent): void => {
    const x = xOf(event);
    if (drag) setDrag([drag[0], x]);
    const at = laneAt(event.clientY - canvas.current!.getBoundingClientRect().top);
    const lane = lanes[at];
    const k = lane ? spanAt(lane, momentAt(x, width, sight), (3 * (sight.to - sight.from)) / width) : -1;
    if (k !== (pointed?.k ?? -1) || at !== pointed?.lane) setPointed(k < 0 ? null : { lane: at, k });
  };
  const onUp = (event: PointerEvent): void => {
    const [from, to] = drag ? [Math.min(...drag), Math.max(...drag)] : [0, 0];
    setDrag(null);
    if (to - from > 4) look({ from: momentAt(from, width, sight), to: momentAt(to, width, sight) }, timeline, false);
    else if (pointed && event.type === "pointerup") {
      const there = leads(item(timeline, lanes[pointed.lane]!, pointed.k));
      if (there) go(there);
    }
  };
  const shown = pointed && item(timeline, lanes[pointed.lane]!, pointed.k);
  return (
    <figure class="timeline" ref={root}>
      <div class="picture">
        <canvas
          ref={canvas}
          style={{ width: "100%" }}
          role="img"
          tabIndex={0}
          aria-label="timeline of the host, streams, copies and memory; the table below has the longest spans"
          onPointerDown={(event) => {
            (event.target as Element).setPointerCapture(event.pointerId);
            setDrag([xOf(event), xOf(event)]);
          }}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onPointerCancel={() => setDrag(null)}
          onPointerLeave={() => !drag && setPointed(null)}
          onDblClick={() => look({ from: 0, to: timeline.seconds }, timeline, false)}
        />
        {drag && (
          <i class="brush" style={{ left: `${Math.min(...drag)}px`, width: `${Math.abs(drag[1] - drag[0])}px` }} />
        )}
      </div>
      <figcaption>
        {shown ? <Said of={shown} /> : <span class="dim">Point at a span to read it, click to go there.</span>}
      </figcaption>
    </figure>
  );
}

function Said({ of }: { of: Item }): JSX.Element {
  return (
    <>
      <span class="mono">{of.what}</span> {SAID[of.kind]} {seconds(of.seconds)} at {seconds(of.at)}
      {of.run >= 0 && `, run ${of.run}`} {of.where && <span class="mono soft">{of.where}</span>}
    </>
  );
}

const SAID: Record<Item["kind"], string> = {
  record: "was recorded for",
  compile: "was waited for until it was compiled,",
  launch: "was launched in",
  wait: "was waited for,",
  kernel: "ran for",
  copy: "was copied in",
  lower: "was worked at for",
};

function leads({ kind, what, where }: Item): string | undefined {
  if (kind === "kernel") return what.endsWith(" on the CPU") ? where && link.source(where) : link.kernel(what);
  if (kind === "wait" || kind === "copy") return where ? link.source(where) : undefined;
  if (kind === "lower") return link.pass(what.replace(/ .*/, ""));
  return link.graph(what);
}

function sightOf({ query }: Route, timeline: Columns): Sight {
  const run = query.run === undefined ? null : rangeOfRun(timeline, Number(query.run));
  if (run) return run;
  const from = Math.max(0, Number(query.from ?? 0) || 0);
  const to = Math.min(timeline.seconds, Number(query.to ?? timeline.seconds) || timeline.seconds);
  return to > from ? { from, to } : { from: 0, to: timeline.seconds };
}

/** From a run's recording to its last launch, with a little around it. */
function rangeOfRun(timeline: Columns, run: number): Sight | null {
  const ends = [timeline.recorded, timeline.compiled, timeline.launched, timeline.launches].flatMap((spans) =>
    spans.run.flatMap((of, k) => (of === run ? [[spans.at[k]!, spans.at[k]! + spans.seconds[k]!]] : [])),
  );
  if (!ends.length) return null;
  const from = ends.reduce((least, [at]) => Math.min(least, at!), Infinity);
  const to = ends.reduce((most, [, end]) => Math.max(most, end!), 0);
  const around = 0.05 * (to - from) || 1e-6;
  return { from: Math.max(0, from - around), to: Math.min(timeline.seconds, to + around) };
}

function moved(key: string, { from, to }: Sight, timeline: Columns): boolean {
  const size = to - from;
  const change: Record<string, [number, number]> = {
    w: [size / 5, -size / 5],
    s: [-size / 3, size / 3],
    a: [-size / 4, -size / 4],
    d: [size / 4, size / 4],
  };
  const by = change[key];
  if (!by) return false;
  let [start, end] = [from + by[0], to + by[1]];
  if (key === "a" && start < 0) [start, end] = [0, size];
  if (key === "d" && end > timeline.seconds) [start, end] = [timeline.seconds - size, timeline.seconds];
  look({ from: start, to: end }, timeline, true);
  return true;
}

function look({ from, to }: Sight, timeline: Columns, replace: boolean): void {
  const [low, high] = [Math.max(0, from), Math.min(timeline.seconds, to)];
  if (high - low < 1e-7) return;
  const isAll = low === 0 && high === timeline.seconds;
  go(href("timeline", [], isAll ? {} : { from: low.toPrecision(9), to: high.toPrecision(9) }), replace);
}

const COLUMNS: Column<Item>[] = [
  { key: "lane", title: "lane", width: 6, cell: (r) => r.lane, by: (r) => r.lane },
  { key: "what", title: "what", width: 18, cell: (r) => <Leads of={r} />, by: (r) => r.what },
  { key: "kind", title: "kind", width: 6, cell: (r) => <span class="dim">{r.kind}</span>, by: (r) => r.kind },
  { key: "seconds", title: "time", right: true, width: 6, cell: (r) => seconds(r.seconds), by: (r) => r.seconds },
  {
    key: "at",
    title: "at",
    right: true,
    width: 6,
    cell: (r) => <a href={href("timeline", [], around(r))}>{seconds(r.at)}</a>,
    by: (r) => r.at,
  },
  {
    key: "run",
    title: "run",
    right: true,
    width: 4.5,
    cell: (r) => (r.run < 0 ? "" : <a href={href("timeline", [], { run: r.run })}>{r.run}</a>),
    by: (r) => r.run,
  },
  { key: "where", title: "line", cell: (r) => <Place at={r.where} />, by: (r) => r.where },
];

function Leads({ of }: { of: Item }): JSX.Element {
  const there = leads(of);
  return there ? (
    <a class="name" href={there}>
      {of.what}
    </a>
  ) : (
    <span class="mono">{of.what}</span>
  );
}

function around({ at, seconds: spent }: Item): Record<string, string> {
  return { from: Math.max(0, at - spent).toPrecision(9), to: (at + 2 * spent || 1e-6).toPrecision(9) };
}

export const timeline = component(Timeline, {
  title: () => "timeline",
  section: "timeline",
  keys: [
    ["w  s", "zoom in and out"],
    ["a  d", "move left and right"],
  ],
});
