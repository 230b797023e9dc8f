// One stage of a graph or kernel, with the lines marked that belong to what is picked.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { functionsOf } from "../code/irtext";
import { Pane } from "../code/pane";
import { linesWith, marksOf } from "../data/marks";
import type { Owner } from "../data/store";
import type { Step } from "../data/types";
import { plural } from "../format";
import { bare } from "../passes/list";
import { link } from "../router";
import { useApp } from "../ui/component";
import { useLoaded } from "../ui/loaded";

export type Role = "graph" | "linalg" | "llvm" | "asm";

interface Props {
  /** "" where there is none. */
  owner: string;
  role: Role;
  /** Nodes of a graph, ordinals of a kernel. */
  wanted: ReadonlySet<number> | undefined;
  /** A line was clicked: what it stands for, or null where no op is on it. */
  onPick: (found: ReadonlySet<number> | null) => void;
}

const TITLES: Record<Role, string> = { graph: "Nodes", linalg: "Linalg", llvm: "LLVM IR", asm: "Assembly" };
const EMPTY: ReadonlySet<number> = new Set();

export function StagePane({ owner, role, wanted = EMPTY, onPick }: Props): JSX.Element {
  const app = useApp();
  const { value, error } = useLoaded<Owner | null>(async () => (owner ? app.data.passes(owner) : null), owner);
  // A stage that was picked stays picked where the next owner has it.
  const [name, setName] = useState("");
  const step = value && stepOf(value, role, name);
  return (
    <section class="stage-pane" aria-label={TITLES[role]}>
      <div class="bar">
        <b>{TITLES[role]}</b>
        {value && step && (
          <>
            <select
              aria-label={`stage of ${TITLES[role]}`}
              value={nameOf(step)}
              onChange={(event) => setName(event.currentTarget.value)}
            >
              {value.steps
                .filter((one) => one.changed || one === step)
                .map((one) => (
                  <option value={nameOf(one)}>
                    {one.stage} {bare(one.name)}
                  </option>
                ))}
            </select>
            <Shown owner={value} step={step} wanted={wanted} />
          </>
        )}
      </div>
      {error !== undefined && <p class="soft">{error}</p>}
      {value && step && (
        <Text key={`${owner} ${step.number}`} owner={value} step={step} wanted={wanted} onPick={onPick} />
      )}
    </section>
  );
}

function Shown({ owner, step, wanted }: { owner: Owner; step: Step; wanted: ReadonlySet<number> }): JSX.Element {
  const lines = useMemo(() => linesWith(marksOf(owner, step.number), wanted), [owner, step, wanted]);
  const name = owner.name.replace(/^.*\//, "");
  return (
    <>
      <span class={lines.length ? "dim ellipsis" : "fates ellipsis"}>
        {wanted.size > 0 && (lines.length ? plural(lines.length, "line") : nowhere(owner, step, wanted))}
      </span>
      <span class="spread" />
      <a
        class="name ellipsis"
        href={link.pass(owner.name, step.number, lines[0] ? { line: lines[0] } : {})}
        title={`${name}: its passes`}
      >
        {name}
      </a>
    </>
  );
}

/** Why a stage has nothing of what is picked. */
function nowhere(owner: Owner, step: Step, wanted: ReadonlySet<number>): string {
  const since = Math.max(...[...wanted].map((ordinal) => owner.passes.gone[String(ordinal)] ?? -1));
  const by = since <= step.number ? owner.step(since) : undefined;
  return by ? `folded away by ${bare(by.name)} (${by.stage})` : "nothing here";
}

function Text({
  owner,
  step,
  wanted,
  onPick,
}: { owner: Owner; step: Step } & Pick<Props, "onPick"> & { wanted: ReadonlySet<number> }): JSX.Element {
  const marks = useMemo(() => marksOf(owner, step.number), [owner, step]);
  const linked = useMemo(() => linesWith(marks, wanted), [marks, wanted]);
  // Before the first function are constants and declarations.
  const start = useMemo(() => functionsOf(owner.lines(step.number), step.file)[0]?.line, [owner, step]);
  return (
    <Pane
      of={`${owner.name} ${step.number}`}
      text={owner.text(step.number)}
      file={step.file}
      linked={linked}
      line={linked[0] ?? start}
      scroll={wanted}
      onLine={(line) => {
        const mark = marks[line - 1];
        onPick(mark ? new Set(mark) : null);
      }}
    />
  );
}

function nameOf(step: Step): string {
  return `${step.stage} ${step.name}`;
}

/** The step of this name, else the one that a pane starts with: recorded, the kernel's input, optimised, assembly. */
function stepOf(owner: Owner, role: Role, name: string): Step | undefined {
  const named = owner.steps.find((step) => nameOf(step) === name);
  if (named) return named;
  if (role === "graph" || role === "linalg") return owner.steps[0];
  const suffix = role === "llvm" ? ".ll" : ".s";
  return owner.steps.findLast((step) => step.file.endsWith(suffix)) ?? owner.steps.at(-1);
}
