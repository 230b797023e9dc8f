// A regular expression over all passes of all graphs and kernels.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Data, Hit } from "../data/store";
import { plural } from "../format";
import { go, link } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Field } from "../ui/field";
import { withQuery } from "../ui/filter";
import { Empty } from "../ui/parts";
import { type Column, Table } from "../ui/table";

interface Found extends Hit {
  owner: string;
  pass: string;
}

interface State {
  found: Found[];
  looked: number;
  isDone: boolean;
}

// Enough to read; a narrower pattern finds the rest.
const MOST = 5000;
const EACH = 200;

function Search({ app, route }: ViewProps): JSX.Element {
  const pattern = route.query.q ?? "";
  const owners = app.data.page.owners;
  const [regex, error] = compiled(pattern, route.query.case === "1");
  const state = useSearch(app.data, regex, `${pattern} ${route.query.case ?? ""}`);
  return (
    <div class="page wide">
      <h1>Search all passes</h1>
      <div class="filter" role="search">
        <Field
          value={pattern}
          onValue={(q) => go(withQuery(route, { q }), true)}
          hint="a regular expression: vector\.fma|nvvm"
          label="regular expression"
          class="mono"
          isWrong={Boolean(error)}
          isFirst
        />
        <span class="chips">
          <button
            type="button"
            aria-pressed={route.query.case === "1"}
            onClick={() => go(withQuery(route, { case: route.query.case === "1" ? "" : "1" }), true)}
          >
            match case
          </button>
        </span>
        <span class={error ? "bad" : "dim"} role="status">
          {error || said(state, owners.length)}
        </span>
      </div>
      {regex && state.found.length > 0 && (
        <Table
          label="found lines"
          rows={state.found}
          columns={COLUMNS}
          id={(hit) => `${hit.owner} ${hit.step} ${hit.line}`}
          href={(hit) => link.pass(hit.owner, hit.step, { line: hit.line })}
        />
      )}
      {regex && state.isDone && !state.found.length && (
        <Empty title="Nothing found">{`No line of any pass matches ${pattern}.`}</Empty>
      )}
      {!regex && !error && (
        <Empty title="What to look for">{`The texts of ${plural(owners.length, "graph and kernel", "graphs and kernels")}, after every pass; a line is shown once, in the first pass that has it.`}</Empty>
      )}
    </div>
  );
}

function said(state: State, owners: number): string {
  if (!state.looked) return "";
  const rest = state.isDone ? "" : ` so far, ${state.looked} of ${owners} looked through`;
  return `${plural(state.found.length, "line")}${state.found.length >= MOST ? " and more" : ""}${rest}`;
}

function compiled(pattern: string, matchCase: boolean): [RegExp | null, string] {
  if (!pattern) return [null, ""];
  try {
    return [new RegExp(pattern, matchCase ? "" : "i"), ""];
  } catch (error) {
    return [null, String(error instanceof Error ? error.message : error)];
  }
}

/** Owner after owner, so that the page stays live and the first lines are there at once. */
function useSearch(data: Data, regex: RegExp | null, key: string): State {
  const [state, setState] = useState<State & { key: string }>({ key: "", found: [], looked: 0, isDone: false });
  useEffect(() => {
    if (!regex) return;
    let isCurrent = true;
    const look = async (): Promise<void> => {
      await new Promise((done) => setTimeout(done, 150)); // Not with every letter.
      const found: Found[] = [];
      let looked = 0;
      for (const { owner } of data.page.owners) {
        if (!isCurrent) return;
        const passes = await data.passes(owner);
        const hits = passes.search(regex, EACH);
        found.push(...hits.map((hit) => ({ ...hit, owner, pass: passes.step(hit.step)?.name ?? "" })));
        looked++;
        if (found.length >= MOST) break;
        if (looked % 10 === 0 && isCurrent) setState({ key, found: [...found], looked, isDone: false });
      }
      if (isCurrent) setState({ key, found, looked, isDone: true });
    };
    void look();
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state.key === key ? state : { found: [], looked: 0, isDone: false };
}

const COLUMNS: Column<Found>[] = [
  {
    key: "owner",
    title: "graph or kernel",
    width: 17,
    cell: (h) => (
      <a class="name" href={link.pass(h.owner, h.step, { line: h.line })}>
        {h.owner.replace(/^.*\//, "")}
      </a>
    ),
    by: (h) => h.owner,
  },
  { key: "step", title: "after pass", width: 16, cell: (h) => <span title={h.pass}>{h.pass}</span>, by: (h) => h.pass },
  { key: "line", title: "line", right: true, width: 4, cell: (h) => h.line, by: (h) => h.line },
  { key: "text", title: "text", cell: (h) => <code title={h.text}>{h.text.trim().slice(0, 400)}</code> },
];

export const search = component(Search, { title: (route) => `search ${route.query.q ?? ""}`, section: "search" });
