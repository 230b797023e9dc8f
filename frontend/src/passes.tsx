// The passes of a graph or kernel: #kernel/NAME/pass/N/L120?with=M, a step beside the one before it, or beside any other.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Owner } from "./data/store";
import type { Step } from "./data/types";
import { plural } from "./format";
import { Bar } from "./passes/bar";
import { Facts } from "./passes/facts";
import { PassList } from "./passes/list";
import { Search } from "./passes/search";
import { initial, type Settings } from "./passes/settings";
import { Texts } from "./passes/texts";
import { Toggle } from "./passes/toggle";
import { go, link, type Route } from "./router";
import { component, type ViewProps } from "./ui/component";
import { useKeys } from "./ui/keys";
import { Loaded } from "./ui/loaded";
import { Empty } from "./ui/parts";

// As the user left them.
let kept = initial;

function Passes({ app, route }: ViewProps): JSX.Element {
  const owner = `${route.page}s/${route.path[0]}`;
  return (
    <Loaded of={owner} load={() => app.data.passes(owner)}>
      {(passes) =>
        passes.steps.length ? <Body owner={passes} route={route} /> : <Empty title="No passes">{owner}</Empty>
      }
    </Loaded>
  );
}

function Body({ owner, route }: { owner: Owner; route: Route }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const [settings, setSettings] = useState(kept);
  const [filter, setFilter] = useState("");
  const [isFinding, setFinding] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const { after, before, line } = shown(owner, route);
  const change = (to: Partial<Settings>): void => setSettings((kept = { ...settings, ...to }));
  const visible = useMemo(() => filtered(owner, settings.changedOnly, filter, after), [owner, settings, filter, after]);
  const show = (step: Step, more: { line?: number; with?: number } = {}): void =>
    go(link.pass(owner.name, step.number, more), true);
  const move = (by: number): boolean => {
    const to = visible[visible.indexOf(after) + by];
    if (to) show(to);
    return true;
  };

  useKeys({
    element: () => root.current,
    filter: () => {
      input.current?.focus();
      return true;
    },
    key: (key) => {
      if (key === "j") return move(1);
      if (key === "k") return move(-1);
      if (key === "u") change({ changedOnly: !settings.changedOnly });
      else if (key === "s") setFinding(true);
      else if (key === "a") change({ attributes: !settings.attributes });
      else if (key === "v") change({ names: !settings.names });
      else if (key === "l") change({ marks: !settings.marks });
      else return false;
      return true;
    },
  });

  const pick = (step: Step, isBefore: boolean): void =>
    isBefore ? show(after, { with: step.number }) : go(link.pass(owner.name, step.number));
  return (
    <div class="fill passes" ref={root}>
      <aside>
        <div class="bar">
          <input
            ref={input}
            type="search"
            placeholder="filter passes"
            aria-label="filter passes"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <Toggle of="only changed" is={settings.changedOnly} set={(changedOnly) => change({ changedOnly })} />
        </div>
        <PassList
          steps={visible}
          mixes={visible.map((step) => owner.passes.mixes[owner.steps.indexOf(step)]!)}
          after={after.number}
          before={before?.number ?? -1}
          onPick={pick}
        />
        <p class="count dim">
          {visible.length < owner.steps.length &&
            `${visible.length} of ${plural(owner.steps.length, "pass", "passes")}`}
        </p>
      </aside>
      <div class="stage-view">
        <Bar
          owner={owner}
          after={after}
          before={before}
          settings={settings}
          change={change}
          onFind={() => setFinding(!isFinding)}
        />
        {isFinding && (
          <Search
            owner={owner}
            onClose={() => setFinding(false)}
            onHit={(number, at) => go(link.pass(owner.name, number, { line: at }), true)}
          />
        )}
        <div class="texts">
          <Texts
            owner={owner}
            after={after}
            before={settings.alone ? undefined : before}
            settings={settings}
            line={line}
            scroll={route}
          />
        </div>
        <Facts owner={owner} step={after} line={line} />
      </div>
    </div>
  );
}

/** The steps and the line that a route means. */
function shown(owner: Owner, route: Route): { after: Step; before: Step | undefined; line: number | undefined } {
  const at = owner.steps.findIndex((step) => String(step.number) === route.path[2]);
  const after = owner.steps[at] ?? owner.steps[0]!;
  const before = owner.step(Number(route.query.with ?? Number.NaN)) ?? owner.steps[owner.steps.indexOf(after) - 1];
  const line = /^L(\d+)$/.exec(route.path[3] ?? "")?.[1];
  return { after, before, line: line ? Number(line) : undefined };
}

/** The steps that the list shows; the one that is looked at is always among them. */
function filtered(owner: Owner, changedOnly: boolean, filter: string, after: Step): Step[] {
  const wanted = filter.toLowerCase();
  const fits = (step: Step): boolean => `${step.stage} ${step.name}`.toLowerCase().includes(wanted);
  return owner.steps.filter((step) => step === after || ((step.changed || !changedOnly) && fits(step)));
}

const KEYS: [string, string][] = [
  ["j  k", "next and previous pass"],
  ["n  p", "next and previous difference"],
  ["u", "hide or show the unchanged"],
  ["s", "find in all passes"],
  ["a  v  l", "attributes, value names, locations"],
  ["shift click", "compare with that pass"],
];
const title = (route: Route): string => `passes of ${route.path[0]}`;

export const passesOfGraph = component(Passes, { title, section: "graphs", keys: KEYS });
export const passesOfKernel = component(Passes, { title, section: "kernels", keys: KEYS });
