// All graphs: how often they ran, and why each had to be compiled.
import type { JSX } from "preact";
import type { GraphFacts } from "../data/types";
import { seconds, whole } from "../format";
import { go, href, link } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Filter, matches, withQuery } from "../ui/filter";
import { Empty, Name, Place } from "../ui/parts";
import { type Column, Table } from "../ui/table";

function Graphs({ app, route }: ViewProps): JSX.Element {
  const { graphs } = app.data.page;
  const shown = graphs.filter((graph) => matches(route.query.q, graph.name, graph.reason, graph.where));
  if (!graphs.length) {
    return (
      <Empty title="No graphs">
        Nothing was launched: no op ran on the device, or no value of one was ever needed.
      </Empty>
    );
  }
  return (
    <div class="page wide">
      <h1>Graphs</h1>
      <Filter
        route={route}
        hint="Filter by name, reason or line"
        shown={shown.length}
        of={graphs.length}
        noun="graphs"
      />
      <Table
        label="graphs"
        rows={shown}
        columns={COLUMNS}
        id={(graph) => graph.name}
        href={(graph) => link.graph(graph.name)}
        sort={route.query.sort}
        onSort={(sort) => go(withQuery(route, { sort }), true)}
        empty={<Empty title="No match">No graph has all of these words.</Empty>}
      />
    </div>
  );
}

const COLUMNS: Column<GraphFacts>[] = [
  { key: "name", title: "graph", width: 9, cell: (g) => <Name kind="graph" of={g.name} />, by: (g) => g.name },
  { key: "runs", title: "runs", right: true, width: 4.5, cell: (g) => whole(g.runs), by: (g) => g.runs },
  {
    key: "hits",
    title: "hits",
    right: true,
    width: 4.5,
    cell: (g) => whole(g.hits),
    by: (g) => g.hits,
    hint: "runs that found it compiled",
  },
  { key: "misses", title: "misses", right: true, width: 5, cell: (g) => whole(g.misses), by: (g) => g.misses },
  {
    key: "seconds",
    title: "in kernels",
    right: true,
    width: 6.5,
    cell: (g) => seconds(g.seconds),
    by: (g) => g.seconds,
  },
  { key: "nodes", title: "nodes", right: true, width: 4.5, cell: (g) => whole(g.nodes), by: (g) => g.nodes },
  {
    key: "host",
    title: "on CPU",
    right: true,
    width: 5,
    cell: (g) => <span class={g.host_nodes ? "" : "dim"}>{whole(g.host_nodes)}</span>,
    by: (g) => g.host_nodes,
    hint: "nodes that have no kernel and run on the CPU",
  },
  {
    key: "launches",
    title: "launches",
    right: true,
    width: 5.5,
    cell: (g) => whole(g.launches),
    by: (g) => g.launches,
    hint: "a run",
  },
  { key: "kernels", title: "kernels", right: true, width: 5, cell: (g) => whole(g.kernels), by: (g) => g.kernels },
  {
    key: "compile",
    title: "compile",
    right: true,
    width: 6,
    cell: (g) => (g.from_disk ? <span class="dim">on disk</span> : seconds(g.compile_s)),
    by: (g) => g.compile_s,
  },
  { key: "reason", title: "why it was compiled", cell: (g) => <Reason graph={g} /> },
  { key: "where", title: "first line", width: 11, cell: (g) => <Place at={g.where} />, by: (g) => g.where },
];

function Reason({ graph }: { graph: GraphFacts }): JSX.Element {
  if (!graph.nearest)
    return (
      <span class="dim" title={graph.reason}>
        {graph.reason}
      </span>
    );
  return (
    <a
      class="text"
      href={href("graph", [graph.name, "difference"])}
      title={`${graph.reason} (beside ${graph.nearest})`}
    >
      {graph.reason}
    </a>
  );
}

export const graphs = component(Graphs, { title: () => "graphs", section: "graphs" });
