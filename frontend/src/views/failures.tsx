// What failed: the pass, the op with its Python line, its IR before, and the command that goes on from there.
import type { ComponentChildren, JSX } from "preact";
import type { FailureFacts } from "../data/types";
import type { Owner } from "../data/store";
import { Code } from "../code/code";
import { plural, whole } from "../format";
import { link } from "../router";
import { component, type ViewProps } from "../ui/component";
import { Loaded } from "../ui/loaded";
import { Copy, Empty, Place } from "../ui/parts";

function Failures({ app }: ViewProps): JSX.Element {
  const { failures } = app.data.page;
  if (!failures.length)
    return <Empty title="Nothing failed">Every pass gave valid IR, and every kernel was compiled.</Empty>;
  return (
    <div class="page">
      <h1>{failures.length === 1 ? "A pass failed" : `${plural(failures.length, "pass", "passes")} failed`}</h1>
      <p class="soft">What failed ran on the CPU, or raised an error at the line below.</p>
      {failures.map((failure, k) => (
        <Failed
          key={k}
          failure={failure}
          number={k}
          load={() => app.data.passes(failure.owner)}
          sources={() => app.data.sources()}
        />
      ))}
    </div>
  );
}

interface FailedProps {
  failure: FailureFacts;
  number: number;
  load: () => Promise<Owner>;
  sources: () => Promise<Record<string, string>>;
}

function Failed({ failure, number, load, sources }: FailedProps): JSX.Element {
  return (
    <article class="failure" aria-label={failure.name}>
      <h2>
        <code>{failure.name || failure.stage}</code>
        <span class="note">
          stage {failure.stage} of{" "}
          <a class="name" href={link.pass(failure.owner)}>
            {failure.owner.replace("/", " ").replace("s ", " ")}
          </a>
        </span>
      </h2>
      <p class="message bad">{failure.message}</p>
      <div class="failure-parts">
        {failure.op && (
          <Titled title="The op">
            <Code text={failure.op} file="op.mlir" />
          </Titled>
        )}
        {failure.lines.length > 0 && (
          <Titled
            title={failure.op || failure.lines.length === 1 ? "Where it comes from" : "Where it comes from: one of"}
          >
            <Loaded of="sources" load={sources}>
              {(files) => <Lines places={failure.lines.slice(0, 6)} files={files} />}
            </Loaded>
          </Titled>
        )}
        {Object.keys(failure.illegal).length > 0 && <Illegal counts={failure.illegal} />}
        {failure.before >= 0 && (
          <Loaded of={`${failure.owner} ${number}`} load={load}>
            {(owner) => <Before owner={owner} failure={failure} />}
          </Loaded>
        )}
        {failure.command && (
          <Titled title="Go on from there" action={<Copy text={failure.command} />}>
            <pre class="command">{failure.command}</pre>
          </Titled>
        )}
        {failure.reproducer && (
          <Titled title="Reproducer" action={<Copy text={failure.reproducer} />}>
            <pre class="command">{failure.reproducer}</pre>
          </Titled>
        )}
      </div>
    </article>
  );
}

function Titled(props: { title: string; action?: JSX.Element; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <h3>
        {props.title} {props.action}
      </h3>
      {props.children}
    </div>
  );
}

function Lines({ places, files }: { places: string[]; files: Record<string, string> }): JSX.Element {
  return (
    <>
      {places.map((place) => {
        const [, file = "", line = "0"] = /^(.*):(\d+)$/.exec(place) ?? [];
        const text = files[file]?.split("\n")[Number(line) - 1];
        return (
          <div>
            <Place at={place} />
            {text !== undefined && (
              <Code text={text.trim()} file="a.py" first={Number(line)} lineHref={() => link.source(place)} />
            )}
          </div>
        );
      })}
    </>
  );
}

function Illegal({ counts }: { counts: Record<string, number> }): JSX.Element {
  const ops = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  const most = ops[0]?.[1] ?? 1;
  return (
    <Titled title="Ops that were left">
      <ul class="plain shares">
        {ops.map(([op, n]) => (
          <li>
            <i class="meter">
              <i class="fill-bad" style={{ width: `${(100 * n) / most}%` }} />
            </i>
            <code class="what">{op}</code>
            <span class="much">{whole(n)}</span>
          </li>
        ))}
      </ul>
    </Titled>
  );
}

const AROUND = 12;

function Before({ owner, failure }: { owner: Owner; failure: FailureFacts }): JSX.Element | null {
  const step = owner.step(failure.before);
  const lines = owner.lines(failure.before);
  if (!step || !lines.length) return null;
  const at = findOp(lines, failure.op || failure.message);
  const first = Math.max(0, at - AROUND);
  const shown = lines.slice(first, at < 0 ? 2 * AROUND : at + AROUND + 1);
  return (
    <Titled
      title={`The IR before it, after ${step.name}`}
      action={
        <a href={link.pass(owner.name, step.number, at < 0 ? {} : { line: at + 1 })}>
          all {plural(lines.length, "line")}
        </a>
      }
    >
      <Code
        text={shown.join("\n")}
        file={step.file}
        first={first + 1}
        marked={at + 1}
        lineHref={(line) => link.pass(owner.name, step.number, { line })}
      />
    </Titled>
  );
}

/** The line with the op, as it is written, else the first with one of its name; -1 where it isn't there. */
function findOp(lines: string[], op: string): number {
  const wanted = op.split("\n")[0]!.trim();
  if (!wanted) return -1;
  const whole = lines.findIndex((line) => line.includes(wanted));
  if (whole >= 0) return whole;
  const name = /(?:= |^|')"?([a-z_]\w*\.[\w.]+)/.exec(wanted)?.[1];
  return name ? lines.findIndex((line) => line.includes(name)) : -1;
}

export const failures = component(Failures, { title: () => "failures", section: "failures" });
