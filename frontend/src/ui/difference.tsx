// Two short texts beside each other as a part of a page: what stayed the same is folded away.
import { MergeView } from "@codemirror/merge";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { changes } from "../code/changes";
import { showing } from "../code/editor";

interface Props {
  before: string;
  after: string;
  names: [string, string];
  /** A file name, for the language. */
  file: string;
}

export function Difference({ before, after, names, file }: Props): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const side = (text: string) => ({ doc: text, extensions: showing({ text, file }) });
    const view = new MergeView({
      parent: root.current!,
      a: side(before),
      b: side(after),
      diffConfig: { override: changes },
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
