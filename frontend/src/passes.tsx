// The passes of a graph or kernel: #kernel/NAME/pass/N/L120?with=M, a step beside the one before it, or beside any other.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Diff } from "./code/diff";
import type { Marked } from "./code/editor";
import { functionsOf, withoutAttributes } from "./code/irtext";
import { suffixOf } from "./code/languages";
import { withNamesOf } from "./code/names";
import { Pane } from "./code/pane";
import { linesWith, marksOf, ordinalsAt } from "./data/marks";
import type { Owner } from "./data/store";
import type { Step } from "./data/types";
import { bytes, plural, seconds } from "./format";
import { bare, describe, PassList } from "./passes/list";
import { MixBar, MixLegend } from "./passes/mix";
import { Origin } from "./passes/origin";
import { Search } from "./passes/search";
import { go, link, type Route } from "./router";
import { component, type ViewProps } from "./ui/component";
import { useKeys } from "./ui/keys";
import { Loaded } from "./ui/loaded";
import { Copy, Empty } from "./ui/parts";

interface Settings {
  changedOnly: boolean;
  attributes: boolean;
  marks: boolean;
  folded: boolean;
  alone: boolean;
  names: boolean;
}

// As the user left them, for all owners.
let kept: Settings = { changedOnly: true, attributes: true, marks: false, folded: true, alone: false, names: false };
const NOTHING: Marked = { linked: [], current: [] };

function Passes({ app, route }: ViewProps): JSX.Element {
  const owner = `${route.page}s/${route.path[0]}`;
  return (
    <Loaded of={owner} load={() => app.data.passes(owner)}>
      {(passes) => (passes.steps.length ? <Body owner={passes} route={route} /> : <Empty title="No passes">{owner}</Empty>)}
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
  const show = (step: Step, more: { line?: number; with?: number } = {}): void => go(link.pass(owner.name, step.number, more), true);
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
        <p class="count dim">{visible.length < owner.steps.length && `${visible.length} of ${plural(owner.steps.length, "pass", "passes")}`}</p>
      </aside>
      <div class="stage-view">
        <Bar owner={owner} after={after} before={before} settings={settings} change={change} onFind={() => setFinding(!isFinding)} />
        {isFinding && (
          <Search
            owner={owner}
            onClose={() => setFinding(false)}
            onHit={(number, at) => go(link.pass(owner.name, number, { line: at }), true)}
          />
        )}
        <div class="texts">
          <Texts owner={owner} after={after} before={settings.alone ? undefined : before} settings={settings} line={line} scroll={route} />
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

function Toggle({ of, hint, is, set }: { of: string; hint?: string; is: boolean; set: (is: boolean) => void }): JSX.Element {
  return (
    <label class="toggle" title={hint}>
      <input type="checkbox" checked={is} onChange={(event) => set(event.currentTarget.checked)} /> {of}
    </label>
  );
}

interface BarProps {
  owner: Owner;
  after: Step;
  before: Step | undefined;
  settings: Settings;
  change: (to: Partial<Settings>) => void;
  onFind: () => void;
}

function Bar({ owner, after, before, settings, change, onFind }: BarProps): JSX.Element {
  const [kind = "", name = ""] = owner.name.split("/", 2);
  const functions = useMemo(() => functionsOf(owner.lines(after.number), after.file), [owner, after]);
  const to = (from: number | undefined, number: number): void => go(link.pass(owner.name, number, { with: from }));
  return (
    <div class="bar top">
      <a class="name" href={kind === "graphs" ? link.graph(name) : link.kernel(name)}>
        {name}
      </a>
      <StagePick label="compare" steps={owner.steps} at={before?.number} pick={(number) => to(number, after.number)} />
      <span aria-hidden="true">→</span>
      <StagePick label="with" steps={owner.steps} at={after.number} pick={(number) => to(undefined, number)} />
      {functions.length > 0 && (
        <select
          class="functions"
          aria-label="function"
          onChange={(event) => go(link.pass(owner.name, after.number, { line: Number(event.currentTarget.value), with: before?.number }), true)}
        >
          {functions.map((one) => (
            <option value={one.line}>@{one.name}</option>
          ))}
        </select>
      )}
      <span class="spread" />
      <Toggle of="alone" is={settings.alone} set={(alone) => change({ alone })} />
      <Toggle of="fold equal" is={settings.folded} set={(folded) => change({ folded })} />
      <Toggle of="attributes" is={settings.attributes} set={(attributes) => change({ attributes })} />
      <Toggle
        of="value names"
        hint="Off: where lines correspond, the later text has the names of the earlier one; ′ marks a new value."
        is={settings.names}
        set={(names) => change({ names })}
      />
      <Toggle of="locations" is={settings.marks} set={(marks) => change({ marks })} />
      <button type="button" onClick={onFind}>
        find
      </button>
    </div>
  );
}

function StagePick(props: { label: string; steps: Step[]; at: number | undefined; pick: (number: number) => void }): JSX.Element {
  const { label, steps, at, pick } = props;
  const stages = [...new Set(steps.map((step) => step.stage))];
  return (
    <select aria-label={label} value={at ?? ""} onChange={(event) => pick(Number(event.currentTarget.value))}>
      {at === undefined && <option value="">nothing</option>}
      {stages.map((stage) => (
        <optgroup label={stage}>
          {steps.filter((step) => step.stage === stage).map((step) => (
            <option value={step.number}>
              {step.number} {bare(step.name)}
              {step.changed ? "" : " (same)"}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

interface TextsProps {
  owner: Owner;
  after: Step;
  before: Step | undefined;
  settings: Settings;
  line: number | undefined;
  scroll: unknown;
}

/** One text, two of one language with their difference, or two of different ones with what belongs together. */
function Texts({ owner, after, before, settings, line, scroll }: TextsProps): JSX.Element {
  const [picked, setPicked] = useState<{ side: 0 | 1; line: number; of: string }>();
  const sides = [before, after].map((step) => step && side(owner, step, settings));
  const of = [owner.name, before?.number, after.number, JSON.stringify(settings)].join(" ");
  const marked = useMemo(
    () => [before, after].map((step, which) => step ? marks(owner, [before, after], step, which as 0 | 1, picked, line) : NOTHING) as [Marked, Marked],
    [of, picked, line],
  );
  const onLine = (which: 0 | 1, at: number): void => {
    setPicked({ side: which, line: at, of });
    if (which === 1) go(link.pass(owner.name, after.number, { line: at, with: explicit(owner, before, after) }), true);
  };
  const [first, second] = sides;
  const isOneLanguage = first && second && suffixOf(first.file) === suffixOf(second.file);
  if (!owner.lines(after.number).length) return <Empty title="Left out of this page">{owner.cut}</Empty>;
  if (isOneLanguage) {
    const named = settings.names ? second.lines : withNamesOf(first.lines, second.lines, second.file);
    return <Diff of={of} before={{ ...first, text: first.lines.join("\n") }} after={{ ...second, text: named.join("\n") }} isFolded={settings.folded} marked={marked} line={line} scroll={scroll} onLine={onLine} />;
  }
  const shown = [first, second].map((one, which) => [one, which as 0 | 1] as const).filter(([one]) => one);
  return (
    <div class="beside">
      {shown.map(([one, which]) => (
        <Pane
          key={which}
          of={`${of} ${which}`}
          {...one!}
          text={one!.lines.join("\n")}
          {...marked[which]}
          line={which === 1 ? line : marked[0].linked[0]}
          scroll={scroll}
          onLine={(at) => onLine(which, at)}
        />
      ))}
    </div>
  );
}

/** The step to compare with as it stands in the address: only where it isn't the one before. */
function explicit(owner: Owner, before: Step | undefined, after: Step): number | undefined {
  return before && owner.steps.indexOf(before) !== owner.steps.indexOf(after) - 1 ? before.number : undefined;
}

interface Side {
  lines: string[];
  file: string;
  marks: ReturnType<typeof marksOf> | undefined;
}

function side(owner: Owner, step: Step, settings: Settings): Side {
  const whole = owner.lines(step.number);
  const lines = settings.attributes ? whole : withoutAttributes(whole, step.file);
  return { lines, file: step.file, marks: settings.marks ? marksOf(owner, step.number) : undefined };
}

/** What is marked in one of two texts: the line that was clicked, and all lines that stand for the same. */
function marks(
  owner: Owner,
  steps: (Step | undefined)[],
  step: Step,
  which: 0 | 1,
  picked: { side: 0 | 1; line: number } | undefined,
  line: number | undefined,
): Marked {
  const from = picked ?? (line ? { side: 1 as const, line } : undefined);
  if (!from) return NOTHING;
  const source = steps[from.side];
  const wanted = source ? ordinalsAt(marksOf(owner, source.number), [from.line]) : new Set<number>();
  return { linked: linesWith(marksOf(owner, step.number), wanted), current: from.side === which ? [from.line] : [] };
}

function Facts({ owner, step, line }: { owner: Owner; step: Step; line: number | undefined }): JSX.Element {
  const at = owner.steps.indexOf(step);
  const mix = owner.passes.mixes[at]!;
  const command = owner.passes.commands[at];
  const delta = describe(step.delta);
  return (
    <footer class="facts">
      <p>
        <span class="mono ellipsis" title={step.name}>{step.name}</span>
        <span class="dim">
          {[step.stage, seconds(step.seconds), plural(step.ops, "op"), bytes(step.nbytes)].join(" · ")}
          {step.elided && " · large constants shortened"}
        </span>
        {delta && <span class="soft ellipsis" title={delta}>{delta}</span>}
      </p>
      {Object.keys(mix).length > 0 && (
        <p>
          <MixBar mix={mix} />
          <MixLegend mix={mix} />
        </p>
      )}
      {line !== undefined && <Origin owner={owner} step={step} line={line} />}
      {command && (
        <p>
          <code class="ellipsis" title={`in ${owner.name}`}>{command}</code>
          <Copy text={`cd ${owner.name} && ${command}`} label="copy" />
        </p>
      )}
    </footer>
  );
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
