// One bar of where the host's time went, the stages of compiling and the device's below it, on the same scale.
import type { JSX } from "preact";
import type { Span } from "../data/types";
import { seconds, share } from "../format";

interface Props {
  spans: Span[];
  stages: Record<string, number>;
  wall: number;
}

export function SpanBar({ spans, stages, wall }: Props): JSX.Element {
  const host = spans.filter((span) => span.where === "host");
  const device = spans.filter((span) => span.where === "device");
  const total = Math.max(wall, sum(host));
  const worked = Object.values(stages).reduce((a, b) => a + b, 0);
  return (
    <div class="spans">
      <Bar name="host" spans={host} total={total} />
      <Bar name="device" spans={device} total={total} />
      <div class="columns">
        <Legend title="The program's thread" spans={host} of={total} />
        <Legend title="The device, at the same time" spans={device} of={total} />
        {worked > 0 && <Stages stages={stages} worked={worked} />}
      </div>
    </div>
  );
}

function Bar({ name, spans, total }: { name: string; spans: Span[]; total: number }): JSX.Element {
  const said = spans.map((span) => `${span.what} ${seconds(span.seconds)}`).join(", ");
  return (
    <div class="span-row">
      <span class="span-name" aria-hidden="true">
        {name}
      </span>
      <div class="span-bar" role="img" aria-label={`${name}: ${said}`}>
        {spans.map((span) => (
          <i
            class={`fill-${slug(span.what)}`}
            style={{ width: `${(100 * span.seconds) / total}%` }}
            title={`${span.what}: ${seconds(span.seconds)}, ${share(span.seconds / total)}`}
          />
        ))}
      </div>
    </div>
  );
}

function Legend({ title, spans, of }: { title: string; spans: Span[]; of: number }): JSX.Element {
  return (
    <div>
      <h3>{title}</h3>
      <ul class="plain shares">
        {spans.map((span) => (
          <li title={span.note}>
            <i class={`swatch fill-${slug(span.what)}`} />
            <span class="what">{span.what}</span>
            <span class="much">{seconds(span.seconds)}</span>
            <span class="much dim">{share(of ? span.seconds / of : 0)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Stages({ stages, worked }: { stages: Record<string, number>; worked: number }): JSX.Element {
  return (
    <div>
      <h3>Compiling, over all workers</h3>
      <ul class="plain shares">
        {Object.entries(stages)
          .sort((a, b) => b[1] - a[1])
          .map(([stage, spent]) => (
            <li>
              <i class="meter">
                <i style={{ width: `${(100 * spent) / worked}%` }} />
              </i>
              <span class="what">{stage}</span>
              <span class="much">{seconds(spent)}</span>
              <span class="much dim">{share(spent / worked)}</span>
            </li>
          ))}
      </ul>
    </div>
  );
}

function sum(spans: Span[]): number {
  return spans.reduce((total, span) => total + span.seconds, 0);
}

function slug(what: string): string {
  return what.replace(/\W+/g, "-").toLowerCase();
}
