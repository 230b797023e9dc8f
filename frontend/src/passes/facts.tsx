// Below the texts: what the pass took and changed, where the picked line comes from, and how to go on from here.
import type { JSX } from "preact";
import type { Owner } from "../data/store";
import type { Step } from "../data/types";
import { bytes, plural, seconds } from "../format";
import { Copy } from "../ui/parts";
import { describe } from "./list";
import { MixBar, MixLegend } from "./mix";
import { Origin } from "./origin";

export function Facts({ owner, step, line }: { owner: Owner; step: Step; line: number | undefined }): JSX.Element {
  const at = owner.steps.indexOf(step);
  const mix = owner.passes.mixes[at]!;
  const command = owner.passes.commands[at];
  const delta = describe(step.delta);
  return (
    <footer class="facts">
      <p>
        <span class="mono ellipsis" title={step.name}>
          {step.name}
        </span>
        <span class="dim">
          {[step.stage, seconds(step.seconds), plural(step.ops, "op"), bytes(step.nbytes)].join(" · ")}
          {step.elided && " · large constants shortened"}
        </span>
        {delta && (
          <span class="soft ellipsis" title={delta}>
            {delta}
          </span>
        )}
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
          <code class="ellipsis" title={`in ${owner.name}`}>
            {command}
          </code>
          <Copy text={`cd ${owner.name} && ${command}`} label="copy" />
        </p>
      )}
    </footer>
  );
}
