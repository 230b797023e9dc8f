// All kernels, over all graphs, and what each reached.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { KernelFacts } from "../data/types";
import { bytes, rate, seconds, share, whole } from "../format";
import { go, link } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Chips, Filter, matches, withQuery } from "../ui/filter";
import { Empty, Name, Places } from "../ui/parts";
import { Roofline } from "../ui/roofline";
import { type Column, Table } from "../ui/table";

function Kernels({ app, route }: ViewProps): JSX.Element {
  const { summary } = app.data.page;
  const { kernels } = summary;
  const [hovered, setHovered] = useState<string>();
  const types = useMemo(() => [...new Set(kernels.map((kernel) => kernel.type))].sort(), [kernels]);
  const shown = useMemo(
    () => kernels.filter(isWanted(route.query)),
    [kernels, route.query.q, route.query.type, route.query.only],
  );
  if (!kernels.length) {
    return (
      <Empty title="No kernels">
        Nothing was compiled or launched: no op ran on the device, or no value of one was needed.
      </Empty>
    );
  }
  return (
    <div class="page wide">
      <h1>Kernels</h1>
      <Filter
        route={route}
        hint="Filter by name, graph, line or signature"
        shown={shown.length}
        of={kernels.length}
        noun="kernels"
      >
        <Chips route={route} name="type" values={types} label="kind" />
        <Chips route={route} name="only" values={ONLY} label="only" />
      </Filter>
      <Roofline
        kernels={shown}
        peakGflops={summary.utilisation.peak_gflops}
        peakGbps={summary.bandwidth.peak_gbps}
        hovered={hovered}
        onHover={setHovered}
      />
      <Table
        label="kernels"
        rows={shown}
        columns={COLUMNS}
        id={(kernel) => kernel.name}
        href={(kernel) => link.kernel(kernel.name)}
        sort={route.query.sort ?? "-seconds"}
        onSort={(sort) => go(withQuery(route, { sort }), true)}
        marked={hovered}
        onHover={(kernel) => setHovered(kernel?.name)}
        empty={<Empty title="No match">No kernel is all of that.</Empty>}
      />
    </div>
  );
}

const ONLY = ["from cache", "compiled", "compute-bound", "memory-bound", "run-time sizes"];

function isWanted({ q, type, only }: Record<string, string>): (kernel: KernelFacts) => boolean {
  const types = new Set((type ?? "").split(",").filter(Boolean));
  const marks = (only ?? "").split(",").filter(Boolean);
  return (kernel) =>
    (!types.size || types.has(kernel.type)) &&
    marks.every((mark) => hasMark(kernel, mark)) &&
    matches(q, kernel.name, kernel.signature, ...kernel.graphs, ...kernel.lines);
}

function hasMark(kernel: KernelFacts, mark: string): boolean {
  if (mark === "from cache") return kernel.from_cache;
  if (mark === "compiled") return !kernel.from_cache;
  if (mark === "run-time sizes") return kernel.dynamic;
  return `${kernel.bound}-bound` === mark;
}

const COLUMNS: Column<KernelFacts>[] = [
  { key: "name", title: "kernel", width: 17, cell: (k) => <KernelName kernel={k} />, by: (k) => k.name },
  { key: "seconds", title: "time", right: true, width: 5.5, cell: (k) => seconds(k.seconds), by: (k) => k.seconds },
  {
    key: "share",
    title: "share",
    right: true,
    width: 4.5,
    cell: (k) => share(k.share),
    by: (k) => k.share,
    hint: "of the time of all kernels",
  },
  {
    key: "launches",
    title: "launches",
    right: true,
    width: 5.5,
    cell: (k) => whole(k.launches),
    by: (k) => k.launches,
  },
  { key: "median", title: "median", right: true, width: 5.5, cell: (k) => seconds(k.median_s), by: (k) => k.median_s },
  { key: "gflops", title: "GFLOP/s", right: true, width: 5.5, cell: (k) => rate(k.gflops), by: (k) => k.gflops },
  { key: "gbps", title: "GB/s", right: true, width: 5, cell: (k) => rate(k.gbps), by: (k) => k.gbps },
  { key: "bound", title: "bound", width: 5.5, cell: (k) => k.bound, by: (k) => k.bound },
  {
    key: "of",
    title: "of bound",
    right: true,
    width: 5.5,
    cell: (k) => share(k.of_bound),
    by: (k) => k.of_bound ?? -1,
    hint: "how near it came to what the processor allows; above 100 % where operands were still in the cache",
  },
  {
    key: "compile",
    title: "compile",
    right: true,
    width: 5.5,
    cell: (k) => <Compiled kernel={k} />,
    by: (k) => (k.from_cache ? 0 : k.compile_s),
  },
  {
    key: "object",
    title: "object",
    right: true,
    width: 5.5,
    cell: (k) => bytes(k.object_bytes),
    by: (k) => k.object_bytes,
  },
  {
    key: "uses",
    title: "graphs",
    right: true,
    width: 4.5,
    cell: (k) => <span title={k.graphs.join(", ")}>{whole(k.graphs.length)}</span>,
    by: (k) => k.graphs.length,
  },
  { key: "lines", title: "lines", cell: (k) => <Places at={k.lines} most={2} />, by: (k) => k.lines[0] ?? "" },
];

function KernelName({ kernel }: { kernel: KernelFacts }): JSX.Element {
  return (
    <span title={kernel.signature}>
      <Name kind="kernel" of={kernel.name} />
    </span>
  );
}

function Compiled({ kernel }: { kernel: KernelFacts }): JSX.Element {
  if (kernel.differs)
    return (
      <span class="bad" title="lowered again for this record, it gave other bytes than the cached object">
        differs
      </span>
    );
  if (kernel.from_cache)
    return (
      <span class="dim" title="the run used an object from disk; the passes were run again for this record">
        cached
      </span>
    );
  return <>{seconds(kernel.compile_s)}</>;
}

export const kernels = component(Kernels, { title: () => "kernels", section: "kernels" });
