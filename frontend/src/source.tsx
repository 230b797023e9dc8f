// The user's Python with the time of each line, and beside it what became of the lines that are picked: nodes, linalg, LLVM
// IR, assembly. #source/FILE?line=12,14
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { Pane } from "./code/pane";
import { type Nodes, nodesOf, Relation } from "./data/relation";
import type { PageLinks } from "./data/types";
import { go, href, type Route } from "./router";
import { heatColumn } from "./source/heat";
import { ofLines, ofNodes, whyNot } from "./source/picked";
import { useSelection } from "./source/selection";
import { StagePane } from "./source/stage";
import { Strip } from "./source/strip";
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

function Body({ file, sources, relation, route }: BodyProps): JSX.Element {
  const asked = route.query.line ?? hottestLine(relation, file);
  const selection = useSelection(relation, file, asked, route.query.kernel ?? "");
  const { picked, pick, say, kernel, use, nodes, graph, ordinals, lines } = selection;
  const root = useRef<HTMLDivElement>(null);

  const onPython = (line: number, isAdded: boolean): void => {
    const before = isAdded ? picked.lines : [];
    const now = before.includes(line) ? before.filter((one) => one !== line) : [...before, line];
    const all = now.sort((a, b) => a - b).join(",");
    pick(ofLines(relation, file, all));
    go(href("source", [file], { line: all }), true);
  };
  const onIr = (found: ReadonlySet<number> | null, nodesOfThem: (found: ReadonlySet<number>) => Nodes): void => {
    if (found?.size) pick({ ...ofNodes(relation, file, nodesOfThem(found)), asked }, kernel);
    else say(whyNot(found));
  };
  const onGraph = (found: ReadonlySet<number> | null): void => onIr(found, (own) => new Map([[graph, own]]));
  const onKernel = (found: ReadonlySet<number> | null): void =>
    onIr(found, (own) => nodesOf(use ? [use] : relation.usesOfKernel(kernel), own));

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
      <Strip file={file} sources={sources} relation={relation} selection={selection} />
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
        <StagePane owner={kernel && `kernels/${kernel}`} role="linalg" wanted={ordinals} onPick={onKernel} />
        <StagePane owner={kernel && `kernels/${kernel}`} role="llvm" wanted={ordinals} onPick={onKernel} />
        <StagePane owner={kernel && `kernels/${kernel}`} role="asm" wanted={ordinals} onPick={onKernel} />
      </div>
    </div>
  );
}

export const source = component(Source, {
  title: (route) => route.path[0] ?? "source",
  section: "source",
  keys: [
    ["j  k", "next and previous line that recorded something"],
    ["ctrl click", "add a line of the program"],
  ],
});
