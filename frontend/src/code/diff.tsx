// Two texts of one language beside each other, with the words that differ.
import { MergeView } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Mark } from "../data/marks";
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

// A difference between texts of a megabyte must not hold up the page.
const LIMITS = { scanLimit: 1000, timeout: 500 };

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
      diffConfig: LIMITS,
      highlightChanges: true,
      gutter: false,
      ...(props.isFolded ? { collapseUnchanged: { margin: 3, minSize: 8 } } : {}),
    });
    toFirst(merge.current);
    return () => merge.current?.destroy();
  }, [of]);
  useEffect(() => {
    mark(merge.current!.a, marked[0]);
    mark(merge.current!.b, marked[1]);
  }, [of, marked]);
  useEffect(() => {
    if (line) scrollTo(merge.current!.b, line);
  }, [of, line, scroll]);
  return <div class="diff" ref={parent} />;
}

function toFirst({ b, chunks }: MergeView): void {
  const [first] = chunks;
  if (first) b.dispatch({ effects: EditorView.scrollIntoView(Math.min(first.fromB, b.state.doc.length), { y: "center" }) });
}

/** The first lines, from 1, of the differences in the later text. */
export function differences({ b, chunks }: MergeView): number[] {
  return chunks.map((chunk) => b.state.doc.lineAt(Math.min(chunk.fromB, b.state.doc.length)).number);
}
