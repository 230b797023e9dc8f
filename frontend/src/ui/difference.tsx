// Two texts beside each other, in CodeMirror's merge view: what stayed the same is folded away.
import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  before: string;
  after: string;
  names: [string, string];
}

export function Difference({ before, after, names }: Props): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const extensions = [lineNumbers(), EditorState.readOnly.of(true), EditorView.editable.of(false)];
    const view = new MergeView({
      parent: root.current!,
      a: { doc: before, extensions },
      b: { doc: after, extensions },
      gutter: true,
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
    return () => view.destroy();
  }, [before, after]);
  return (
    <>
      <div class="difference-names">
        <span class="mono">{names[0]}</span>
        <span class="mono">{names[1]}</span>
      </div>
      <div ref={root} class="difference" />
    </>
  );
}
