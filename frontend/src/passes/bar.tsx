// Above the texts: which two there are, and what of them is shown.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { functionsOf } from "../code/irtext";
import type { Owner } from "../data/store";
import type { Step } from "../data/types";
import { go, link } from "../router";
import { bare } from "./list";
import type { Settings } from "./settings";
import { Toggle } from "./toggle";

interface BarProps {
  owner: Owner;
  after: Step;
  before: Step | undefined;
  settings: Settings;
  change: (to: Partial<Settings>) => void;
  onFind: () => void;
}

export function Bar({ owner, after, before, settings, change, onFind }: BarProps): JSX.Element {
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
          onChange={(event) =>
            go(
              link.pass(owner.name, after.number, { line: Number(event.currentTarget.value), with: before?.number }),
              true,
            )
          }
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

function StagePick(props: {
  label: string;
  steps: Step[];
  at: number | undefined;
  pick: (number: number) => void;
}): JSX.Element {
  const { label, steps, at, pick } = props;
  const stages = [...new Set(steps.map((step) => step.stage))];
  return (
    <select aria-label={label} value={at ?? ""} onChange={(event) => pick(Number(event.currentTarget.value))}>
      {at === undefined && <option value="">nothing</option>}
      {stages.map((stage) => (
        <optgroup label={stage}>
          {steps
            .filter((step) => step.stage === stage)
            .map((step) => (
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
