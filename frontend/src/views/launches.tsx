// A graph's plan: what it launches, with what each launch took over all runs.
import type { JSX } from "preact";
import type { GraphPage, LaunchTotals, NodeFacts, PlanLaunch } from "../data/types";
import { bytes, count, seconds, share, whole } from "../format";
import { link } from "../router";
import { useApp } from "../ui/component";
import { Empty, Name, Places } from "../ui/parts";
import { type Column, Table } from "../ui/table";

interface Row {
  index: number;
  launch: PlanLaunch;
  totals: LaunchTotals;
  nodes: NodeFacts[];
  share: number;
  bound: string;
}

export function Launches({ graph }: { graph: GraphPage }): JSX.Element {
  const { kernels } = useApp().data.page.summary;
  const bounds = new Map(kernels.map((kernel) => [kernel.name, kernel.bound]));
  const busy = graph.totals.reduce((sum, totals) => sum + totals.seconds, 0);
  const rows = graph.detail.launches.map((launch, index): Row => {
    const totals = graph.totals[index]!;
    const nodes = [...new Set(launch.nodes)].map((node) => graph.detail.nodes[node]!);
    return {
      index,
      launch,
      totals,
      nodes,
      share: busy ? totals.seconds / busy : 0,
      bound: bounds.get(launch.kernel) ?? "",
    };
  });
  return (
    <Table
      label="launches"
      rows={rows}
      columns={COLUMNS}
      id={(row) => String(row.index)}
      href={(row) => (row.launch.kernel ? link.kernel(row.launch.kernel) : undefined)}
      empty={<Empty title="No launches">The graph has no op: it only gives back what it was given.</Empty>}
    />
  );
}

const COLUMNS: Column<Row>[] = [
  {
    key: "index",
    title: "#",
    right: true,
    width: 3,
    cell: (r) => <span class="dim">{r.index}</span>,
    by: (r) => r.index,
  },
  { key: "kernel", title: "kernel", width: 16, cell: (r) => <What row={r} />, by: (r) => r.launch.kernel },
  {
    key: "seconds",
    title: "time",
    right: true,
    width: 6,
    cell: (r) => seconds(r.totals.seconds),
    by: (r) => r.totals.seconds,
  },
  { key: "share", title: "share", right: true, width: 5, cell: (r) => share(r.share), by: (r) => r.share },
  {
    key: "times",
    title: "times",
    right: true,
    width: 5,
    cell: (r) => whole(r.totals.times),
    by: (r) => r.totals.times,
  },
  {
    key: "flops",
    title: "flop each",
    right: true,
    width: 6,
    cell: (r) => count(each(r.totals.flops, r)),
    by: (r) => each(r.totals.flops, r),
  },
  {
    key: "bytes",
    title: "bytes each",
    right: true,
    width: 6.5,
    cell: (r) => bytes(each(r.totals.nbytes, r)),
    by: (r) => each(r.totals.nbytes, r),
  },
  { key: "bound", title: "bound", width: 6, cell: (r) => r.bound, by: (r) => r.bound },
  { key: "ops", title: "ops", cell: (r) => <Ops nodes={r.nodes} /> },
  {
    key: "lines",
    title: "lines",
    width: 13,
    cell: (r) => <Places at={[...new Set(r.nodes.flatMap((n) => n.lines))]} most={1} />,
  },
];

function What({ row }: { row: Row }): JSX.Element {
  if (row.launch.kernel) return <Name kind="kernel" of={row.launch.kernel} />;
  const why = row.nodes.map((node) => node.host).join("; ");
  return (
    <span class="bad" title={why}>
      on the CPU: {why}
    </span>
  );
}

function Ops({ nodes }: { nodes: NodeFacts[] }): JSX.Element {
  const said = nodes
    .map((node) => `n${node.number} ${node.op.replace(/^aten\./, "").replace(/\.default$/, "")}`)
    .join(", ");
  return (
    <span class="soft" title={said}>
      {said}
    </span>
  );
}

function each(total: number, row: Row): number {
  return row.totals.times ? total / row.totals.times : 0;
}
