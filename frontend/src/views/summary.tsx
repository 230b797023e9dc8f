// The run in short: what ran, six figures, where time went, what cost time without being asked for.
import type { ComponentChildren, JSX } from "preact";
import type { Compile, Figure, KernelFacts, OnCpu, Page, Summary as Facts, Wait } from "../data/types";
import { plural, seconds, share, whole } from "../format";
import { href, link } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Empty, Name, Place, Places, Section } from "../ui/parts";
import { SpanBar } from "../ui/spans";
import { type Column, Table } from "../ui/table";

function Summary({ app }: ViewProps): JSX.Element {
  const { page } = app.data;
  const { summary } = page;
  return (
    <div class="page">
      <Program page={page} />
      <Figures figures={page.figures} />
      <Section title="Where time went" note={`${seconds(summary.program.wall_s)} in all`}>
        <SpanBar spans={summary.spans} stages={summary.compile_time.stages} wall={summary.program.wall_s} />
      </Section>
      <Section title="Kernels" note={<KernelsNote facts={summary} />}>
        <Table
          label="the longest kernels"
          rows={summary.kernels.slice(0, 8)}
          columns={KERNELS}
          id={(k) => k.name}
          href={(k) => link.kernel(k.name)}
          empty={<NoKernels />}
        />
      </Section>
      <Section title="Compiles" note={<CompilesNote facts={summary} />}>
        <Table
          label="compiles"
          rows={summary.compiles}
          columns={COMPILES}
          id={(c) => c.graph}
          href={(c) => link.graph(c.graph)}
          empty={<NoCompiles />}
        />
      </Section>
      <Section
        title="Waits for the device"
        note={
          summary.waits.length ? plural(summary.counts.waits, "that nobody asked for", "that nobody asked for") : ""
        }
      >
        <Table
          label="waits"
          rows={summary.waits}
          columns={WAITS}
          id={(w) => `${w.cause} ${w.where}`}
          href={(w) => w.where && link.source(w.where)}
          empty={<Empty title="None">The program never waited for a value, a copy or the device.</Empty>}
        />
      </Section>
      <Section
        title="On the CPU"
        note={summary.on_cpu.length ? plural(summary.counts.fallbacks, "run of an op", "runs of ops") : ""}
      >
        <Table
          label="ops on the CPU"
          rows={summary.on_cpu}
          columns={ON_CPU}
          id={(f) => `${f.op} ${f.where} ${f.cause} ${f.reason}`}
          href={(f) => f.where && link.source(f.where)}
          empty={<Empty title="None">Every op had a kernel.</Empty>}
        />
      </Section>
      <Setup page={page} />
    </div>
  );
}

function Program({ page }: { page: Page }): JSX.Element {
  const { program } = page.summary;
  return (
    <div class="head">
      <h1 class="mono">{page.title}</h1>
      <p class="soft">
        {[
          program.started.replace("T", " ").replace(/(:\d\d)[.\d]*(Z|[+-].*)?$/, "$1"),
          program.processor,
          plural(program.threads, "thread"),
          `target ${program.target || "host"}`,
          `torch ${program.versions.torch ?? "?"}`,
          `mlirdev ${program.versions.mlirdev ?? "?"}`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {program.error && <p class="bad">The program ended with {program.error}</p>}
      {!program.whole && <p class="bad">The record was not closed: the program ended before, or still runs.</p>}
      {page.notes.map((note) => (
        <p class="soft">{note}</p>
      ))}
    </div>
  );
}

function Figures({ figures }: { figures: Figure[] }): JSX.Element {
  return (
    <dl class="figures">
      {figures.map((figure) => (
        <div>
          <dt>{figure.title}</dt>
          <dd>{figure.value}</dd>
          <dd class="why">{figure.note}</dd>
        </div>
      ))}
    </dl>
  );
}

function KernelsNote({ facts }: { facts: Facts }): JSX.Element {
  const { counts } = facts;
  const cached = counts.kernels_from_cache ? `, ${whole(counts.kernels_from_cache)} from the cache` : "";
  return (
    <>
      {`${plural(counts.launches, "launch", "launches")} of ${plural(counts.kernels, "kernel")}${cached}; the longest: `}
      <a href={href("kernels")}>all</a>
    </>
  );
}

function CompilesNote({ facts }: { facts: Facts }): JSX.Element {
  const { counts } = facts;
  return (
    <>{`${plural(counts.graphs, "graph")}; ${whole(counts.hits)} of ${plural(counts.runs, "run")} found theirs compiled`}</>
  );
}

function NoKernels(): JSX.Element {
  return (
    <Empty title="None">Nothing was computed on the device: no op ran on it, or no value of one was needed.</Empty>
  );
}

function NoCompiles(): JSX.Element {
  return <Empty title="None">No graph was launched, so none was compiled.</Empty>;
}

const KERNELS: Column<KernelFacts>[] = [
  { key: "name", title: "kernel", width: 17, cell: (k) => <Name kind="kernel" of={k.name} /> },
  { key: "seconds", title: "time", right: true, width: 6, cell: (k) => seconds(k.seconds), by: (k) => k.seconds },
  { key: "share", title: "share", right: true, width: 5, cell: (k) => share(k.share), by: (k) => k.share },
  { key: "launches", title: "launches", right: true, width: 6, cell: (k) => whole(k.launches), by: (k) => k.launches },
  { key: "bound", title: "bound", width: 6, cell: (k) => k.bound },
  { key: "of", title: "of bound", right: true, width: 6, cell: (k) => share(k.of_bound), by: (k) => k.of_bound ?? -1 },
  { key: "lines", title: "lines", cell: (k) => <Places at={k.lines} /> },
];

const CAUSES: Record<string, string> = { first: "first", sizes: "other sizes", program: "other ops" };

const COMPILES: Column<Compile>[] = [
  { key: "graph", title: "graph", width: 9, cell: (c) => <Name kind="graph" of={c.graph} /> },
  { key: "nodes", title: "nodes", right: true, width: 4.5, cell: (c) => whole(c.nodes), by: (c) => c.nodes },
  { key: "kernels", title: "kernels", right: true, width: 5, cell: (c) => whole(c.kernels), by: (c) => c.kernels },
  { key: "seconds", title: "waited", right: true, width: 6, cell: (c) => seconds(c.seconds), by: (c) => c.seconds },
  {
    key: "cause",
    title: "why",
    width: 7,
    cell: (c) => (c.from_disk ? "on disk" : (CAUSES[c.cause] ?? c.cause)),
    by: (c) => c.cause,
  },
  { key: "reason", title: "what differs", cell: (c) => <Reason compile={c} /> },
  { key: "where", title: "line", width: 11, cell: (c) => <Place at={c.where} /> },
];

function Reason({ compile }: { compile: Compile }): ComponentChildren {
  if (compile.cause === "first") return <span class="dim">{compile.reason}</span>;
  return compile.nearest ? (
    <a class="text" href={href("graph", [compile.graph, "difference"])} title={compile.reason}>
      {compile.reason}
    </a>
  ) : (
    <span title={compile.reason}>{compile.reason}</span>
  );
}

const WAITS: Column<Wait>[] = [
  { key: "where", title: "line", width: 14, cell: (w) => <Place at={w.where} /> },
  { key: "cause", title: "for", width: 9, cell: (w) => w.cause, by: (w) => w.cause },
  { key: "times", title: "times", right: true, width: 5, cell: (w) => whole(w.times), by: (w) => w.times },
  { key: "seconds", title: "time", right: true, width: 6, cell: (w) => seconds(w.seconds), by: (w) => w.seconds },
  {
    key: "remedy",
    title: "remedy",
    cell: (w) => (w.explicit ? <span class="dim">asked for</span> : <span title={w.remedy}>{w.remedy}</span>),
  },
];

const ON_CPU: Column<OnCpu>[] = [
  { key: "where", title: "line", width: 14, cell: (f) => <Place at={f.where} /> },
  { key: "op", title: "op", width: 17, cell: (f) => <code>{f.op}</code>, by: (f) => f.op },
  { key: "times", title: "times", right: true, width: 5, cell: (f) => whole(f.times), by: (f) => f.times },
  { key: "reason", title: "since", cell: (f) => <span title={f.reason}>{f.reason}</span> },
  { key: "remedy", title: "remedy", cell: (f) => <span title={f.remedy}>{f.remedy}</span> },
];

function Setup({ page }: { page: Page }): JSX.Element {
  const { versions, recording_s, wall_s } = page.summary.program;
  return (
    <details class="setup">
      <summary>Versions, options, target</summary>
      <div class="columns">
        <Facts title="versions" of={versions} />
        <Facts title="options" of={page.options} />
        <Facts title="target" of={page.target} />
      </div>
      <p class="soft">{`Making the record took ${seconds(recording_s)}, ${share(wall_s ? recording_s / wall_s : 0)} of the run.`}</p>
    </details>
  );
}

function Facts({ title, of }: { title: string; of: Record<string, unknown> }): JSX.Element {
  return (
    <div>
      <h3>{title}</h3>
      <dl class="terms">
        {Object.entries(of).map(([key, value]) => (
          <>
            <dt>{key}</dt>
            <dd class="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

export const summary = component(Summary, { title: () => "summary", section: "summary" });
