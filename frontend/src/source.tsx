// The user's Python with the time of each line, and beside it what became of the lines that are picked: nodes, linalg, LLVM
// IR, assembly. #source/FILE?line=12,14
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Pane } from "./code/pane";
import { Relation, type Nodes, type Use, nodesOf, ordinalsOf, sizeOf, within } from "./data/relation";
import type { PageLinks } from "./data/types";
import { plural, seconds } from "./format";
import { go, href, link, type Route } from "./router";
import { heatColumn } from "./source/heat";
import { StagePane } from "./source/stage";
import { component, type ViewProps } from "./ui/component";
import { useKeys } from "./ui/keys";
import { Loaded } from "./ui/loaded";
import { Empty } from "./ui/parts";

function Source({ app, route }: ViewProps): JSX.Element {
  const load = async (): Promise<[Record<string, string>, Relation]> => [
    await app.data.sources(),
    new Relation(await app.data.blob<PageLinks>("links")),
  ];
  return (
    <Loaded of="source" load={load}>
      {([sources, relation]) => {
        const file = route.path[0] || hottest(relation, sources);
        if (sources[file] === undefined)
          return (
            <Empty title="No source">
              {file ? `The record has no text of ${file}.` : "The record has no text of the program."}
            </Empty>
          );
        return <Body key={file} file={file} sources={sources} relation={relation} route={route} />;
      }}
    </Loaded>
  );
}

/** The file in which most of the time is. */
function hottest(relation: Relation, sources: Record<string, string>): string {
  const time = new Map(Object.keys(sources).map((file) => [file, 0]));
  for (const spot of relation.links.places) {
    const known = time.get(spot.file);
    if (known !== undefined) time.set(spot.file, known + spot.seconds + 1e-9);
  }
  return [...time].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}

/** The line with the most time, which is what the view opens with. */
function hottestLine(relation: Relation, file: string): string {
  const here = relation.links.places.filter((spot) => spot.file === file);
  return String(here.sort((a, b) => b.seconds - a.seconds)[0]?.line ?? "");
}

interface BodyProps {
  file: string;
  sources: Record<string, string>;
  relation: Relation;
  route: Route;
}

/** What is picked: lines of the program, or nodes by way of a line of IR. `said` is why a line leads nowhere. */
interface Picked {
  /** The lines that the address asked for then. */
  asked: string;
  nodes: Nodes;
  lines: readonly number[];
  said?: string;
}

const NO_OP = "no op is on that line";
const NO_ORIGIN = "that op doesn't say what it comes from";

function Body({ file, sources, relation, route }: BodyProps): JSX.Element {
  const asked = route.query.line ?? hottestLine(relation, file);
  const [picked, setPicked] = useState<Picked>(() => ofLines(relation, file, asked));
  const [kernel, setKernel] = useState(route.query.kernel ?? "");
  const [launch, setLaunch] = useState("");
  const root = useRef<HTMLDivElement>(null);
  // A launch belongs to what was picked with it.
  const pick = (to: Picked, of = kernel): void => {
    setPicked(to);
    setKernel(of);
    setLaunch("");
  };
  useEffect(() => {
    if (picked.asked !== asked) pick(ofLines(relation, file, asked));
  }, [asked]);

  const all = useMemo(() => relation.usesOf(picked.nodes), [picked]);
  const kernels = [...new Set(all.map((use) => use.kernel).filter(Boolean))];
  const shownKernel = kernels.includes(kernel) ? kernel : (kernels[0] ?? "");
  const uses = all.filter((use) => use.kernel === shownKernel);
  const use = uses.find((one) => keyOf(one) === launch);
  const nodes = useMemo(() => (use ? within(use, picked.nodes) : picked.nodes), [use, picked]);
  const graph = use?.graph ?? uses[0]?.graph ?? [...picked.nodes.keys()][0] ?? "";
  const chosen = use ? [use] : uses;
  const ordinals = useMemo(() => ordinalsOf(chosen, nodes), [shownKernel, launch, nodes]);
  const lines = useMemo(() => relation.linesOf(file, nodes), [file, nodes]);

  const onPython = (line: number, isAdded: boolean): void => {
    const before = isAdded ? picked.lines : [];
    const now = before.includes(line) ? before.filter((one) => one !== line) : [...before, line];
    const all = now.sort((a, b) => a - b).join(",");
    pick(ofLines(relation, file, all));
    go(href("source", [file], { line: all }), true);
  };
  const onIr = (found: ReadonlySet<number> | null, nodesOfThem: (found: ReadonlySet<number>) => Nodes): void => {
    if (found?.size) pick({ ...ofNodes(relation, file, nodesOfThem(found)), asked }, shownKernel);
    else setPicked({ ...picked, said: found ? NO_ORIGIN : NO_OP });
  };
  const onGraph = (found: ReadonlySet<number> | null): void => onIr(found, (own) => new Map([[graph, own]]));
  const onKernel = (found: ReadonlySet<number> | null): void =>
    onIr(found, (own) => nodesOf(use ? [use] : relation.usesOfKernel(shownKernel), own));

  const spots = useMemo(() => relation.spots(file), [file]);
  useKeys({
    element: () => root.current,
    key: (key) => {
      if (key !== "j" && key !== "k") return false;
      const [here, recorded] = [picked.lines[0] ?? lines[0] ?? 0, [...spots.keys()].sort((a, b) => a - b)];
      const to = key === "j" ? recorded.find((line) => line > here) : recorded.findLast((line) => line < here);
      if (to) onPython(to, false);
      return true;
    },
  });
  const heat = useMemo(() => heatColumn(spots), [spots]);
  return (
    <div class="fill source" ref={root}>
      <Strip
        {...{ file, sources, relation, picked, nodes, all, kernels, uses, use }}
        kernel={shownKernel}
        graph={graph}
        onKernel={(name) => pick(picked, name)}
        onLaunch={setLaunch}
      />
      <div class="python">
        <Pane
          of={file}
          text={sources[file]!}
          file="a.py"
          extra={heat}
          linked={lines}
          current={picked.lines}
          line={picked.lines[0] ?? lines[0]}
          scroll={picked}
          onLine={onPython}
        />
      </div>
      <div class="stages">
        <StagePane owner={graph && `graphs/${graph}`} role="graph" wanted={nodes.get(graph)} onPick={onGraph} />
        <StagePane owner={shownKernel && `kernels/${shownKernel}`} role="linalg" wanted={ordinals} onPick={onKernel} />
        <StagePane owner={shownKernel && `kernels/${shownKernel}`} role="llvm" wanted={ordinals} onPick={onKernel} />
        <StagePane owner={shownKernel && `kernels/${shownKernel}`} role="asm" wanted={ordinals} onPick={onKernel} />
      </div>
    </div>
  );
}

function ofLines(relation: Relation, file: string, asked: string): Picked {
  const lines = asked
    .split(",")
    .map(Number)
    .filter((line) => line > 0);
  const nodes = relation.nodesAt(file, new Set(lines));
  return { asked, nodes, lines, ...(lines.length && !sizeOf(nodes) ? { said: "this line recorded nothing" } : {}) };
}

function ofNodes(relation: Relation, file: string, nodes: Nodes): Omit<Picked, "asked"> {
  if (relation.linesOf(file, nodes).length) return { nodes, lines: [] };
  const places = [...relation.spotsOf(nodes)].map((spot) => `${spot.file}:${spot.line}`);
  return {
    nodes,
    lines: [],
    said: places.length ? `it comes from ${places.join(", ")}` : "no line of the program is known for it",
  };
}

interface StripProps {
  file: string;
  sources: Record<string, string>;
  relation: Relation;
  picked: Picked;
  nodes: Nodes;
  all: Use[];
  kernels: string[];
  kernel: string;
  graph: string;
  uses: Use[];
  use: Use | undefined;
  onKernel: (name: string) => void;
  onLaunch: (key: string) => void;
}

function Strip(props: StripProps): JSX.Element {
  const { file, sources, relation, picked, nodes, all, kernels, kernel, uses, use, onKernel, onLaunch } = props;
  const times = all.reduce((sum, one) => sum + one.times, 0);
  const time = all.reduce((sum, one) => sum + one.seconds, 0);
  return (
    <div class="bar top">
      <select aria-label="file" value={file} onChange={(event) => go(href("source", [event.currentTarget.value]))}>
        {filesWithNodes(relation, sources, file).map((name) => (
          <option value={name}>{name}</option>
        ))}
      </select>
      {sizeOf(picked.nodes) === 0 ? (
        <span class="soft">
          {picked.said ??
            "Pick a line, of the program or of any pane: what belongs to it is marked in all. Ctrl adds lines."}
        </span>
      ) : (
        <>
          <span class="soft">
            {plural(sizeOf(picked.nodes), "node")}, {plural(kernels.length, "kernel")},{" "}
            {plural(times, "launch", "launches")} of {seconds(time)}
          </span>
          {kernels.length > 0 && (
            <select aria-label="kernel" value={kernel} onChange={(event) => onKernel(event.currentTarget.value)}>
              {kernels.map((name) => (
                <option value={name}>
                  {name} · {seconds(total(all, name))}
                </option>
              ))}
            </select>
          )}
          {kernel && (
            <select
              aria-label="launch"
              value={use || uses.length === 1 ? keyOf(use ?? uses[0]!) : ""}
              onChange={(event) => onLaunch(event.currentTarget.value)}
            >
              {uses.length !== 1 && <option value="">in all {plural(uses.length, "place")}</option>}
              {uses.map((one) => (
                <option value={keyOf(one)}>
                  launch {one.index} of {one.graph} · {one.times}× · {seconds(one.seconds)}
                </option>
              ))}
            </select>
          )}
          {kernel && <a href={link.pass(`kernels/${kernel}`)}>passes</a>}
          <Fates relation={relation} nodes={nodes} />
          {picked.said && <span class="soft">{picked.said}</span>}
        </>
      )}
    </div>
  );
}

/** The files that recorded something, and the one that is shown. */
function filesWithNodes(relation: Relation, sources: Record<string, string>, shown: string): string[] {
  const found = new Set(relation.links.places.map((spot) => spot.file));
  return Object.keys(sources).filter((name) => name === shown || found.has(name));
}

function total(uses: Use[], kernel: string): number {
  return uses.reduce((sum, use) => sum + (use.kernel === kernel ? use.seconds : 0), 0);
}

function keyOf(use: Use): string {
  return `${use.graph} ${use.index}`;
}

/** Nodes that nothing computes, with the pass that removed them. */
function Fates({ relation, nodes }: { relation: Relation; nodes: Nodes }): JSX.Element | null {
  const found = relation
    .fates(nodes)
    .map(({ graph, node, fate }) => `n${node} ${opOf(relation.text(graph, node))}: ${fate}`);
  if (!found.length) return null;
  return (
    <span class="fates ellipsis" title={found.join("\n")}>
      {found.length > 1 && `${found.length} nodes without a kernel: `}
      {found[0]}
    </span>
  );
}

/** The op in a node's text: aten.add.Tensor of "%3: 4xf32 = aten.add.Tensor(%1, %2)  // n0". */
function opOf(text: string): string {
  return /([a-z_]\w*(?:\.\w+)+)\(/.exec(text)?.[1] ?? "";
}

export const source = component(Source, {
  title: (route) => route.path[0] ?? "source",
  section: "source",
  keys: [
    ["j  k", "next and previous line that recorded something"],
    ["ctrl click", "add a line of the program"],
  ],
});
