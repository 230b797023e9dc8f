// One text, two of one language with their difference, or two of different ones with what belongs together.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Diff } from "../code/diff";
import type { Marked } from "../code/editor";
import { withoutAttributes } from "../code/irtext";
import { suffixOf } from "../code/languages";
import { withNamesOf } from "../code/names";
import { Pane } from "../code/pane";
import { linesWith, type Mark, marksOf, ordinalsAt } from "../data/marks";
import type { Owner } from "../data/store";
import type { Step } from "../data/types";
import { go, link } from "../router";
import { Empty } from "../ui/parts";
import type { Settings } from "./settings";

interface Props {
  owner: Owner;
  after: Step;
  before: Step | undefined;
  settings: Settings;
  /** The line of the later text that is meant. */
  line: number | undefined;
  scroll: unknown;
}

interface Side {
  lines: string[];
  file: string;
  marks: Mark[] | undefined;
}

const NOTHING: Marked = { linked: [], current: [] };

export function Texts({ owner, after, before, settings, line, scroll }: Props): JSX.Element {
  const of = [owner.name, before?.number, after.number, JSON.stringify(settings)].join(" ");
  // A line of the earlier text has no address; that of the later one is in the route.
  const [earlier, setEarlier] = useState<number>();
  useEffect(() => setEarlier(undefined), [of, line]);
  const marked = useMemo(() => marks(owner, before, after, earlier, line), [of, earlier, line]);
  const onLine = (which: 0 | 1, at: number): void => {
    if (which === 0) setEarlier(at);
    else go(link.pass(owner.name, after.number, { line: at, with: explicit(owner, before, after) }), true);
  };
  if (!owner.lines(after.number).length) return <Empty title="Left out of this page">{owner.cut}</Empty>;
  const [first, second] = [before && side(owner, before, settings), side(owner, after, settings)];
  const shown = { of, marked, line, scroll, onLine };
  return first && suffixOf(first.file) === suffixOf(second.file) ? (
    <Difference {...shown} first={first} second={second} settings={settings} />
  ) : (
    <Beside {...shown} first={first} second={second} />
  );
}

interface Shown {
  of: string;
  marked: [Marked, Marked];
  line: number | undefined;
  scroll: unknown;
  onLine: (which: 0 | 1, line: number) => void;
  second: Side;
}

function Difference({ first, second, settings, ...shown }: Shown & { first: Side; settings: Settings }): JSX.Element {
  const named = useMemo(
    () => (settings.names ? second.lines : withNamesOf(first.lines, second.lines, second.file)).join("\n"),
    [shown.of],
  );
  return (
    <Diff
      {...shown}
      before={{ ...first, text: first.lines.join("\n") }}
      after={{ ...second, text: named }}
      isFolded={settings.folded}
    />
  );
}

function Beside({ of, marked, line, scroll, onLine, first, second }: Shown & { first: Side | undefined }): JSX.Element {
  const pane = (one: Side, which: 0 | 1, at: number | undefined): JSX.Element => (
    <Pane
      {...one}
      {...marked[which]}
      key={which}
      of={`${of} ${which}`}
      text={one.lines.join("\n")}
      line={at}
      scroll={scroll}
      onLine={(picked) => onLine(which, picked)}
    />
  );
  return (
    <div class="beside">
      {first && pane(first, 0, marked[0].current[0] ?? marked[0].linked[0])}
      {pane(second, 1, line ?? marked[1].linked[0])}
    </div>
  );
}

/** The step to compare with as it stands in the address: only where it isn't the one before. */
function explicit(owner: Owner, before: Step | undefined, after: Step): number | undefined {
  return before && owner.steps.indexOf(before) !== owner.steps.indexOf(after) - 1 ? before.number : undefined;
}

function side(owner: Owner, step: Step, settings: Settings): Side {
  const whole = owner.lines(step.number);
  const lines = settings.attributes ? whole : withoutAttributes(whole, step.file);
  return { lines, file: step.file, marks: settings.marks ? marksOf(owner, step.number) : undefined };
}

/** What is marked in both texts: the line that was picked, and all lines that stand for the same. */
function marks(
  owner: Owner,
  before: Step | undefined,
  after: Step,
  earlier: number | undefined,
  line: number | undefined,
): [Marked, Marked] {
  const [from, at] = earlier ? [before, earlier] : [after, line];
  if (!from || !at) return [NOTHING, NOTHING];
  const wanted = ordinalsAt(marksOf(owner, from.number), [at]);
  const marked = (step: Step | undefined): Marked =>
    step ? { linked: linesWith(marksOf(owner, step.number), wanted), current: step === from ? [at] : [] } : NOTHING;
  return [marked(before), marked(after)];
}
