// Two texts of one language beside each other, with the words that differ.
import { MergeView, uncollapseUnchanged } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Mark } from "../data/marks";
import { changes } from "./changes";
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
    toFirst(merge.current);
    return () => merge.current?.destroy();
  }, [of]);
  useEffect(() => {
    mark(merge.current!.a, marked[0]);
    mark(merge.current!.b, marked[1]);
  }, [of, marked]);
  useEffect(() => {
    if (!line || line > merge.current!.b.state.doc.lines) return;
    if (props.isFolded) unfold(merge.current!, line);
    scrollTo(merge.current!.b, line);
  }, [of, line, scroll]);
  return <div class="diff" ref={parent} />;
}

function toFirst({ b, chunks }: MergeView): void {
  const [first] = chunks;
  if (first) b.dispatch({ effects: EditorView.scrollIntoView(Math.min(first.fromB, b.state.doc.length), { y: "center" }) });
}

/** Show the equal lines among which this line of the later text is: they are known by where they start. */
function unfold({ a, b, chunks }: MergeView, line: number): void {
  const at = b.state.doc.line(line).from;
  const before = chunks.findLast((chunk) => chunk.toB <= at);
  for (const [view, end] of [[a, before?.toA], [b, before?.toB]] as const) {
    const { doc } = view.state;
    const first = end === undefined ? 1 : doc.lineAt(Math.min(end, doc.length)).number + MARGIN;
    if (first <= doc.lines) view.dispatch({ effects: uncollapseUnchanged.of(doc.line(first).from) });
  }
}
