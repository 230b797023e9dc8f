// A graph: its launches, nodes, memory, runs, and what it differs in from the nearest one.
import type { JSX } from "preact";
import type { GraphPage, NodeFacts, RunFacts } from "../data/types";
import { Difference } from "../ui/difference";
import { plural, seconds, whole } from "../format";
import { href, link, type Route } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Filter, matches } from "../ui/filter";
import { Loaded } from "../ui/loaded";
import { Empty, Name, Place, Places } from "../ui/parts";
import { type Column, Table } from "../ui/table";
import { TAB_KEYS, Tabs } from "../ui/tabs";
import { Launches } from "./launches";
import { Memory } from "./memory";

function Graph({ app, route }: ViewProps): JSX.Element {
  const name = route.path[0] ?? "";
  return (
    <Loaded of={name} load={() => app.data.graph(name)}>
      {(graph) => (
        <div class="page wide">
          <Head graph={graph} />
          <Tabs
            label="parts of the graph"
            current={route.path[1] ?? ""}
            tabs={tabs(
              graph,
              app.data.page.owners.some((o) => o.owner === `graphs/${name}`),
            )}
          />
          <Part graph={graph} route={route} />
        </div>
      )}
    </Loaded>
  );
}

function tabs(graph: GraphPage, hasPasses: boolean): { key: string; title: string; href: string; count?: number }[] {
  const { facts } = graph.detail;
  const all = [
    { key: "", title: "launches", href: link.graph(facts.name), count: facts.launches },
    { key: "nodes", title: "nodes", href: href("graph", [facts.name, "nodes"]), count: facts.nodes },
    { key: "memory", title: "memory", href: href("graph", [facts.name, "memory"]), count: graph.detail.slots.length },
    { key: "runs", title: "runs", href: href("graph", [facts.name, "runs"]), count: facts.runs },
    { key: "difference", title: "difference", href: href("graph", [facts.name, "difference"]) },
    { key: "pass", title: "passes →", href: link.pass(`graphs/${facts.name}`) },
  ];
  return all.filter((tab) => (tab.key !== "difference" || facts.nearest) && (tab.key !== "pass" || hasPasses));
}

function Head({ graph }: { graph: GraphPage }): JSX.Element {
  const { facts, inputs, outputs } = graph.detail;
  return (
    <div class="head">
      <h1 class="mono">{facts.name}</h1>
      <p class="soft">
        {[
          plural(facts.nodes, "node"),
          facts.host_nodes ? `${whole(facts.host_nodes)} of them on the CPU` : "",
          plural(inputs.length, "input"),
          plural(outputs.length, "output"),
          `${plural(facts.runs, "run")}, ${plural(facts.hits, "hit")}`,
          `${seconds(facts.seconds)} in kernels`,
          facts.from_disk ? "found on disk" : `compiled in ${seconds(facts.compile_s)}`,
          facts.generalised
            ? `generalised: ${facts.syms === 1 ? "a size comes" : `${facts.syms} sizes come`} with each run`
            : "",
        ]
          .filter(Boolean)
          .join(" · ")}
        {facts.where && " · "}
        <Place at={facts.where} />
      </p>
      <p class="soft">
        {facts.reason && <>Compiled since: {facts.reason}</>}
        {facts.nearest && (
          <>
            {" "}
            (beside <Name kind="graph" of={facts.nearest} />)
          </>
        )}
      </p>
    </div>
  );
}

function Part({ graph, route }: { graph: GraphPage; route: Route }): JSX.Element {
  switch (route.path[1] ?? "") {
    case "nodes":
      return <Nodes nodes={graph.detail.nodes} route={route} />;
    case "memory":
      return <Memory graph={graph} />;
    case "runs":
      return <Runs graph={graph} />;
    case "difference":
      return <Compared graph={graph} />;
    default:
      return <Launches graph={graph} />;
  }
}

function Nodes({ nodes, route }: { nodes: NodeFacts[]; route: Route }): JSX.Element {
  const shown = nodes.filter((node) => matches(route.query.q, node.text, node.host, ...node.lines, ...node.kernels));
  return (
    <>
      <Filter route={route} hint="Filter by op, kernel or line" shown={shown.length} of={nodes.length} noun="nodes" />
      <Table
        label="nodes"
        rows={shown}
        columns={NODES}
        id={(node) => String(node.number)}
        href={(node) => (node.kernels[0] ? link.kernel(node.kernels[0]) : undefined)}
        marked={route.query.n}
        empty={<Empty title="No match">No node has all of these words.</Empty>}
      />
    </>
  );
}

const NODES: Column<NodeFacts>[] = [
  { key: "number", title: "node", right: true, width: 3.5, cell: (n) => `n${n.number}`, by: (n) => n.number },
  {
    key: "text",
    title: "op",
    width: 26,
    cell: (n) => <code title={n.text}>{withoutTypes(n.text)}</code>,
    by: (n) => n.op,
  },
  { key: "results", title: "gives", width: 14, cell: (n) => <code>{n.results.join(", ")}</code> },
  { key: "kernels", title: "computed by", cell: (n) => <ComputedBy node={n} />, by: (n) => n.kernels[0] ?? "" },
  {
    key: "lines",
    title: "lines",
    width: 14,
    cell: (n) => <Places at={n.lines} most={2} />,
    by: (n) => n.lines[0] ?? "",
  },
];

/** "%3 = aten.add.Tensor(%1, %2)": what it gives stands beside it. */
function withoutTypes(text: string): string {
  return text.replace(/^.*?(?= = )/, (results) => results.replace(/: .*?(?=, %|$)/g, ""));
}

function ComputedBy({ node }: { node: NodeFacts }): JSX.Element {
  if (node.host)
    return (
      <span class="bad" title={node.host}>
        the CPU: {node.host}
      </span>
    );
  if (!node.kernels.length)
    return (
      <span class="dim" title={node.fate}>
        {node.fate}
      </span>
    );
  return (
    <>
      <Name kind="kernel" of={node.kernels[0]!} />
      {node.kernels.length > 1 && <span class="dim"> +{node.kernels.length - 1}</span>}
    </>
  );
}

function Runs({ graph }: { graph: GraphPage }): JSX.Element {
  const { runs, detail } = graph;
  return (
    <>
      {runs.length < detail.facts.runs && (
        <p class="soft">{`The first ${whole(runs.length)} of ${whole(detail.facts.runs)}.`}</p>
      )}
      <Table
        label="runs"
        rows={runs}
        columns={RUNS}
        id={(run) => String(run.number)}
        href={(run) => href("timeline", [], { run: run.number })}
        empty={<Empty title="Never run">It was compiled, and the program ended before it was launched.</Empty>}
      />
    </>
  );
}

const RUNS: Column<RunFacts>[] = [
  {
    key: "number",
    title: "run",
    right: true,
    width: 4.5,
    cell: (r) => <a href={href("timeline", [], { run: r.number })}>{whole(r.number)}</a>,
    by: (r) => r.number,
  },
  { key: "at", title: "at", right: true, width: 6, cell: (r) => seconds(r.at), by: (r) => r.at },
  {
    key: "record",
    title: "recorded in",
    right: true,
    width: 7,
    cell: (r) => seconds(r.record_s),
    by: (r) => r.record_s,
  },
  {
    key: "launch",
    title: "launched in",
    right: true,
    width: 7,
    cell: (r) => seconds(r.launch_s),
    by: (r) => r.launch_s,
  },
  {
    key: "hit",
    title: "cache",
    width: 5,
    cell: (r) => (r.hit ? "hit" : <span class="bad">miss</span>),
    by: (r) => r.hit,
  },
  { key: "stream", title: "stream", right: true, width: 5, cell: (r) => r.stream, by: (r) => r.stream },
  { key: "cause", title: "launched since", width: 10, cell: (r) => r.cause, by: (r) => r.cause },
  { key: "syms", title: "sizes", width: 9, cell: (r) => r.syms.join(", ") },
  { key: "where", title: "line", cell: (r) => <Place at={r.where} />, by: (r) => r.where },
];

function Compared({ graph }: { graph: GraphPage }): JSX.Element {
  const { facts } = graph.detail;
  if (!graph.nearest_text) {
    return <Empty title="Nothing to compare with">{facts.reason || "It was the first of its kind."}</Empty>;
  }
  return (
    <Difference before={graph.nearest_text} after={graph.text} names={[facts.nearest, facts.name]} file="graph.mlir" />
  );
}

export const graph = component(Graph, {
  title: (route) => route.path[0] ?? "graph",
  section: "graphs",
  keys: TAB_KEYS,
});
