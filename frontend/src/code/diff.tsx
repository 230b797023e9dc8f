// Two texts of one language beside each other, with the words that differ.
import { goToNextChunk, goToPreviousChunk, MergeView, uncollapseUnchanged } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Mark } from "../data/marks";
import { changes } from "./changes";
import { useKeys } from "../ui/keys";
import { mark, type Marked, scrollTo, showing } from "./editor";

export interface Side {
  text: string;
  file: string;
  marks?: Mark[] | undefined;
}

interface Props {
  /** What is shown: the texts are only looked at again when this changes. */
  of: string;
  before: Side;
  after: Side;
  /** Fold what is equal. */
  isFolded: boolean;
  marked: [before: Marked, after: Marked];
  /** A line of the later text to be in sight; again when `scroll` changes. */
  line?: number | undefined;
  scroll?: unknown;
  onLine: (side: 0 | 1, line: number) => void;
}

// Equal lines that stay beside a difference.
const MARGIN = 3;

export function Diff(props: Props): JSX.Element {
  const { of, marked, line, scroll } = props;
  const parent = useRef<HTMLDivElement>(null);
  const merge = useRef<MergeView>(undefined);
  const whole = useRef<[number[], number[]]>([[], []]);
  const onLine = useRef(props.onLine);
  onLine.current = props.onLine;

  useLayoutEffect(() => {
    const side = (which: 0 | 1, options: Side) => ({
      doc: options.text,
      extensions: showing({ ...options, onLine: (at) => onLine.current(which, at) }),
    });
    merge.current = new MergeView({
      a: side(0, props.before),
      b: side(1, props.after),
      parent: parent.current!,
      diffConfig: { override: changes },
      highlightChanges: true,
      gutter: false,
      ...(props.isFolded ? { collapseUnchanged: { margin: MARGIN, minSize: 8 } } : {}),
    });
    whole.current = [wholeLines(merge.current, "a"), wholeLines(merge.current, "b")];
    toFirst(merge.current);
    return () => merge.current?.destroy();
  }, [of]);
  useEffect(() => {
    const { a, b } = merge.current!;
    mark(a, { ...marked[0], whole: whole.current[0] });
    mark(b, { ...marked[1], whole: whole.current[1] });
  }, [of, marked]);
  useEffect(() => {
    if (!line || line > merge.current!.b.state.doc.lines) return;
    if (props.isFolded) unfold(merge.current!, line);
    scrollTo(merge.current!.b, line);
  }, [of, line, scroll]);
  useKeys({
    element: () => parent.current,
    key: (key) => {
      if (key !== "n" && key !== "p") return false;
      (key === "n" ? goToNextChunk : goToPreviousChunk)(merge.current!.b);
      return true;
    },
  });
  return <div class="diff" ref={parent} />;
}

function toFirst({ b, chunks }: MergeView): void {
  const [first] = chunks;
  if (first)
    b.dispatch({ effects: EditorView.scrollIntoView(Math.min(first.fromB, b.state.doc.length), { y: "center" }) });
}

/** The lines, from 1, of which every word differs: nothing within them needs to stand out. */
function wholeLines({ a, b, chunks }: MergeView, side: "a" | "b"): number[] {
  const { doc } = (side === "a" ? a : b).state;
  const found: number[] = [];
  for (const chunk of chunks) {
    const start = side === "a" ? chunk.fromA : chunk.fromB;
    for (const change of chunk.changes) {
      const [from, to] = side === "a" ? [change.fromA, change.toA] : [change.fromB, change.toB];
      let line = doc.lineAt(Math.min(start + from, doc.length));
      if (line.from < start + from && line.number < doc.lines) line = doc.line(line.number + 1);
      for (; line.from >= start + from && line.to <= start + to && line.length; line = doc.line(line.number + 1)) {
        found.push(line.number);
        if (line.number === doc.lines) break;
      }
    }
  }
  return found;
}

/** Show the equal lines among which this line of the later text is: they are known by where they start. */
function unfold({ a, b, chunks }: MergeView, line: number): void {
  const at = b.state.doc.line(line).from;
  const before = chunks.findLast((chunk) => chunk.toB <= at);
  for (const [view, end] of [
    [a, before?.toA],
    [b, before?.toB],
  ] as const) {
    const { doc } = view.state;
    const first = end === undefined ? 1 : doc.lineAt(Math.min(end, doc.length)).number + MARGIN;
    if (first <= doc.lines) view.dispatch({ effects: uncollapseUnchanged.of(doc.line(first).from) });
  }
}
