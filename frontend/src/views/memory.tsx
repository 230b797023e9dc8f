// The slots of a graph's plan, and from which launch to which each is in use.
import type { JSX } from "preact";
import type { GraphPage, PlanSlot } from "../data/types";
import { bytes, plural } from "../format";
import { Empty } from "../ui/parts";
import { type Column, Table } from "../ui/table";

interface Row extends PlanSlot {
  number: number;
  first: number;
  last: number;
}

export function Memory({ graph }: { graph: GraphPage }): JSX.Element {
  const { slots, launches } = graph.detail;
  const rows = slots.map((slot, number): Row => ({ ...slot, number, ...life(graph, slot, number) }));
  const used = (of: string): number => rows.filter((r) => r.role === of).reduce((sum, r) => sum + (r.nbytes ?? 0), 0);
  const peaks = launches.map((_, at) =>
    rows.filter((r) => r.first <= at && at <= r.last).reduce((sum, r) => sum + (r.nbytes ?? 0), 0),
  );
  const most = Math.max(0, ...peaks);
  if (!slots.length) return <Empty title="No memory">The plan has no slots.</Empty>;
  return (
    <>
      <p class="soft">
        {`Inputs ${bytes(used("input"))}, outputs ${bytes(used("output"))}, temporaries ${bytes(used("temporary"))}; `}
        {most > 0 && `at most ${bytes(most)} at once, at launch ${peaks.indexOf(most)}. `}
        {`A line goes over the ${plural(launches.length, "launch", "launches")}.`}
      </p>
      <Table label="memory slots" rows={rows} columns={columns(launches.length)} id={(row) => String(row.number)} />
    </>
  );
}

/** Inputs are there from the start, outputs to the end. */
function life(graph: GraphPage, slot: PlanSlot, number: number): { first: number; last: number } {
  const { launches } = graph.detail;
  const at = launches.flatMap((launch, k) =>
    launch.reads.includes(number) || launch.writes.includes(number) ? [k] : [],
  );
  return {
    first: slot.role === "input" ? 0 : (at[0] ?? 0),
    last: slot.role === "output" ? launches.length - 1 : (at.at(-1) ?? 0),
  };
}

function columns(launches: number): Column<Row>[] {
  return [
    { key: "number", title: "slot", right: true, width: 3.5, cell: (r) => r.number, by: (r) => r.number },
    { key: "spec", title: "holds", width: 12, cell: (r) => <code>{r.spec}</code> },
    { key: "role", title: "role", width: 7, cell: (r) => r.role, by: (r) => r.role },
    {
      key: "nbytes",
      title: "size",
      right: true,
      width: 6.5,
      cell: (r) => (r.nbytes ? bytes(r.nbytes) : <span class="dim">run-time</span>),
      by: (r) => r.nbytes ?? 0,
    },
    { key: "life", title: "in use", cell: (r) => <Life row={r} launches={launches} />, by: (r) => r.first },
  ];
}

function Life({ row, launches }: { row: Row; launches: number }): JSX.Element {
  const left = (100 * row.first) / launches;
  const width = (100 * (row.last - row.first + 1)) / launches;
  return (
    <span
      class={`life ${row.role}`}
      role="img"
      aria-label={`from launch ${row.first} to ${row.last}`}
      title={`from launch ${row.first} to ${row.last}`}
    >
      <i style={{ marginLeft: `${left}%`, width: `${width}%` }} />
    </span>
  );
}
