// The passes of an owner: which there are, what they took, and what each changed.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { seconds, whole } from "../format";
import type { Step } from "../data/types";
import { type Mix, MixBar } from "./mix";

interface Props {
  steps: Step[];
  mixes: Mix[];
  /** Numbers of the step that is shown, and of the one that it is compared with. */
  after: number;
  before: number;
  onPick: (step: Step, isBefore: boolean) => void;
}

export function PassList({ steps, mixes, after, before, onPick }: Props): JSX.Element {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [after]);
  const slowest = Math.max(...steps.map((step) => step.seconds), 1e-9);
  return (
    <ol class="passes-list plain" ref={list}>
      {steps.map((step, k) => (
        <>
          {step.stage !== steps[k - 1]?.stage && <li class="stage">{step.stage}</li>}
          <li
            class={["pass", step.changed ? "" : "same", step.number === before ? "before" : ""].join(" ")}
            aria-current={step.number === after ? "true" : undefined}
            title={title(step)}
            onClick={(event) => onPick(step, event.shiftKey || event.altKey)}
          >
            <span class="number">{step.number}</span>
            <span class="what">{bare(step.name)}</span>
            <Delta delta={step.delta} />
            <span class="time" style={`--share: ${((step.seconds / slowest) * 100).toFixed(1)}%`}>
              {step.seconds ? seconds(step.seconds) : ""}
            </span>
            <MixBar mix={mixes[k] ?? {}} />
          </li>
        </>
      ))}
    </ol>
  );
}

function Delta({ delta }: { delta: Record<string, number> }): JSX.Element {
  const counts = Object.values(delta);
  const more = counts.filter((n) => n > 0).reduce((a, b) => a + b, 0);
  const fewer = counts.filter((n) => n < 0).reduce((a, b) => a + b, 0);
  return (
    <span class="delta">
      {more > 0 && <span class="good">+{whole(more)}</span>} {fewer < 0 && <span class="bad">−{whole(-fewer)}</span>}
    </span>
  );
}

/** A pass's name without its anchor and options: func.func(cse{…}) is cse. */
export function bare(name: string): string {
  const inner = /^(?:[\w.]+\()*([^(){}]+)/.exec(name.replace(/^(?:[\w.]+\()+/, ""));
  return (inner?.[1] ?? name).replace(/^.*\//, "");
}

export function describe(delta: Record<string, number>): string {
  return Object.entries(delta)
    .map(([name, n]) => `${n > 0 ? "+" : "−"}${whole(Math.abs(n))} ${name}`)
    .join(", ");
}

function title(step: Step): string {
  const what = step.changed ? describe(step.delta) || "changed" : "unchanged";
  return `${step.name}\n${what}\nshift: compare with this one`;
}
