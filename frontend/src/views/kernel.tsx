// A kernel: what it did, everywhere it is used, and the passes that made it.
import type { ComponentChildren, JSX } from "preact";
import type { KernelFacts, KernelPage, KernelUse, Page, Step } from "../data/types";
import type { Owner } from "../data/store";
import { bytes, count, plural, rate, seconds, share, whole } from "../format";
import { href, link, type Route } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Loaded } from "../ui/loaded";
import { Empty, Name, Places } from "../ui/parts";
import { Roofline } from "../ui/roofline";
import { type Column, Table } from "../ui/table";
import { TAB_KEYS, Tabs } from "../ui/tabs";

function Kernel({ app, route }: ViewProps): JSX.Element {
  const name = route.path[0] ?? "";
  const { page } = app.data;
  const facts = page.summary.kernels.find((kernel) => kernel.name === name);
  if (!facts)
    return (
      <Empty title={`No kernel "${name}"`}>The record has none of this name; they are listed under kernels.</Empty>
    );
  const owner = `kernels/${name}`;
  const passes = page.owners.find((known) => known.owner === owner);
  return (
    <Loaded of={name} load={() => app.data.kernel(name)}>
      {(kernel) => (
        <div class="page wide">
          <Head facts={facts} kernel={kernel} />
          <Tabs
            label="parts of the kernel"
            current={route.path[1] ?? ""}
            tabs={[
              { key: "", title: "uses", href: link.kernel(name), count: kernel.uses.length },
              { key: "roofline", title: "roofline", href: href("kernel", [name, "roofline"]) },
              ...(passes
                ? [
                    {
                      key: "steps",
                      title: "how it was made",
                      href: href("kernel", [name, "steps"]),
                      count: passes.passes,
                    },
                    { key: "pass", title: "passes →", href: link.pass(owner) },
                  ]
                : []),
            ]}
          />
          <Part kernel={kernel} facts={facts} page={page} route={route} load={() => app.data.passes(owner)} />
        </div>
      )}
    </Loaded>
  );
}

interface PartProps {
  kernel: KernelPage;
  facts: KernelFacts;
  page: Page;
  route: Route;
  load: () => Promise<Owner>;
}

function Part({ kernel, facts, page, route, load }: PartProps): JSX.Element {
  if (route.path[1] === "steps")
    return (
      <Loaded of={`steps ${kernel.name}`} load={load}>
        {(owner) => <Steps owner={owner} />}
      </Loaded>
    );
  if (route.path[1] === "roofline") {
    const { utilisation, bandwidth, kernels } = page.summary;
    return (
      <>
        <Roofline
          kernels={kernels}
          peakGflops={utilisation.peak_gflops}
          peakGbps={bandwidth.peak_gbps}
          hovered={kernel.name}
        />
        {!(facts.flops && facts.nbytes && facts.seconds) && (
          <Empty title="Not in it">This kernel did no arithmetic, or didn't run.</Empty>
        )}
      </>
    );
  }
  return <Uses kernel={kernel} />;
}

function Head({ facts, kernel }: { facts: KernelFacts; kernel: KernelPage }): JSX.Element {
  return (
    <div class="head">
      <h1 class="mono">{facts.name}</h1>
      <p class="mono soft">{facts.signature}</p>
      <dl class="terms rows">
        <Fact name="kind">{facts.type}</Fact>
        <Fact name="time">{`${seconds(facts.seconds)} in ${plural(facts.launches, "launch", "launches")}, median ${seconds(facts.median_s)}; ${share(facts.share)} of all kernels`}</Fact>
        <Fact name="work">{`${count(facts.flops)} operations, ${bytes(facts.nbytes)}${facts.dynamic ? "; sizes come with each launch" : ""}`}</Fact>
        <Fact name="reached">{`${rate(facts.gflops)} GFLOP/s, ${rate(facts.gbps)} GB/s; bound: ${facts.bound}, ${share(facts.of_bound)} of it`}</Fact>
        <Fact name="compiled">{compiled(facts)}</Fact>
        <Fact name="key">
          <code>{kernel.key}</code>
        </Fact>
      </dl>
      {facts.differs && (
        <p class="bad">
          Lowered again for this record, it gave other bytes than the object in the cache: something that isn't in the
          key has changed.
        </p>
      )}
    </div>
  );
}

function compiled(facts: KernelFacts): string {
  const how = facts.from_cache
    ? "the run used an object from disk; its passes ran again for this record"
    : `in ${seconds(facts.compile_s)}`;
  return `${how}; ${bytes(facts.object_bytes)} of object code, ${plural(facts.threads, "thread")}`;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Uses({ kernel }: { kernel: KernelPage }): JSX.Element {
  return (
    <Table
      label="where it is used"
      rows={kernel.uses}
      columns={USES}
      id={(use) => `${use.graph} ${use.index}`}
      href={(use) => link.graph(use.graph)}
      empty={
        <Empty title="Not used">
          No plan launches it: it was compiled for a graph that failed, or only for the record.
        </Empty>
      }
    />
  );
}

const USES: Column<KernelUse>[] = [
  { key: "graph", title: "graph", width: 9, cell: (u) => <Name kind="graph" of={u.graph} />, by: (u) => u.graph },
  { key: "index", title: "launch", right: true, width: 4.5, cell: (u) => u.index, by: (u) => u.index },
  { key: "times", title: "times", right: true, width: 5, cell: (u) => whole(u.times), by: (u) => u.times },
  { key: "seconds", title: "time", right: true, width: 6, cell: (u) => seconds(u.seconds), by: (u) => u.seconds },
  {
    key: "nodes",
    title: "nodes",
    width: 14,
    cell: (u) => (
      <span class="soft" title={named(u)}>
        {named(u)}
      </span>
    ),
  },
  { key: "ops", title: "ops", cell: (u) => <code title={u.ops.join(", ")}>{u.ops.join(", ")}</code> },
  {
    key: "lines",
    title: "lines",
    width: 18,
    cell: (u) => <Places at={u.lines} most={2} />,
    by: (u) => u.lines[0] ?? "",
  },
];

function named(use: KernelUse): string {
  return use.nodes.map((node) => `n${node}`).join(", ");
}

function Steps({ owner }: { owner: Owner }): JSX.Element {
  const steps: Column<Step>[] = [
    {
      key: "number",
      title: "#",
      right: true,
      width: 3,
      cell: (s) => <span class="dim">{s.number}</span>,
      by: (s) => s.number,
    },
    { key: "stage", title: "stage", width: 6, cell: (s) => s.stage, by: (s) => s.stage },
    {
      key: "name",
      title: "pass",
      width: 22,
      cell: (s) => (
        <a href={link.pass(owner.name, s.number)} class={s.changed ? "name" : "name same"}>
          {s.name}
        </a>
      ),
      by: (s) => s.name,
    },
    { key: "seconds", title: "time", right: true, width: 6, cell: (s) => seconds(s.seconds), by: (s) => s.seconds },
    { key: "ops", title: "ops", right: true, width: 4.5, cell: (s) => whole(s.ops), by: (s) => s.ops },
    { key: "bytes", title: "size", right: true, width: 6, cell: (s) => bytes(s.nbytes), by: (s) => s.nbytes },
    { key: "delta", title: "what changed", cell: (s) => <Delta step={s} /> },
  ];
  return (
    <Table
      label="passes"
      rows={owner.steps}
      columns={steps}
      id={(s) => String(s.number)}
      href={(s) => link.pass(owner.name, s.number)}
    />
  );
}

function Delta({ step }: { step: Step }): JSX.Element {
  if (!step.changed) return <span class="dim">nothing</span>;
  const said = Object.entries(step.delta).map(([op, n]) => `${n > 0 ? "+" : "−"}${Math.abs(n)} ${op}`);
  return <code title={said.join(", ")}>{said.join(", ") || <span class="dim">the same ops</span>}</code>;
}

export const kernel = component(Kernel, {
  title: (route) => route.path[0] ?? "kernel",
  section: "kernels",
  keys: TAB_KEYS,
});
