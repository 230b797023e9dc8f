// A text in a pane that scrolls.
import { type Extension, EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Mark } from "../data/marks";
import { isInSight, mark, scrollTo, showing } from "./editor";

interface Props {
  /** What the text is: it is only looked at again when this changes. */
  of: string;
  text: string;
  file: string;
  marks?: Mark[] | undefined;
  extra?: Extension;
  linked?: readonly number[];
  current?: readonly number[];
  /** A line to be in sight; again when `scroll` changes. */
  line?: number | undefined;
  scroll?: unknown;
  onLine?: (line: number, isAdded: boolean) => void;
}

const NONE: readonly number[] = [];

export function Pane(props: Props): JSX.Element {
  const { of, linked = NONE, current = NONE, line, scroll } = props;
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const onLine = useRef(props.onLine);
  onLine.current = props.onLine;

  useLayoutEffect(() => {
    const options = { ...props, onLine: (at: number, isAdded: boolean) => onLine.current?.(at, isAdded) };
    const state = EditorState.create({ doc: props.text, extensions: showing(options) });
    view.current = new EditorView({ state, parent: parent.current! });
    return () => view.current?.destroy();
  }, [of]);
  useEffect(() => mark(view.current!, { linked, current }), [of, linked, current]);
  useEffect(() => {
    if (line && line <= view.current!.state.doc.lines && !isInSight(view.current!, line)) scrollTo(view.current!, line);
  }, [of, line, scroll]);
  return <div class="pane" ref={parent} />;
}
