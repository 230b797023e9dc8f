// A piece of code that only shows: no editor, so that it prints, and costs nothing.
import { classHighlighter, highlightCode } from "@lezer/highlight";
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { languageOf } from "./languages";

interface Props {
  text: string;
  /** A file name, for its language: "a.mlir". */
  file: string;
  /** The number of the first line; without it there are none. */
  first?: number;
  /** The line that is marked. */
  marked?: number;
  /** Where a line's number leads. */
  lineHref?: (line: number) => string;
}

export function Code({ text, file, first, marked, lineHref }: Props): JSX.Element {
  const lines = useMemo(() => highlighted(text, file), [text, file]);
  return (
    <pre class="code" tabIndex={0}>
      {lines.map((line, k) => {
        const number = (first ?? 1) + k;
        return (
          <span class={number === marked ? "line marked" : "line"}>
            {first !== undefined && (
              <a class="number" href={lineHref?.(number)}>
                {number}
              </a>
            )}
            <code>{line}</code>
            {"\n"}
          </span>
        );
      })}
    </pre>
  );
}

/** The text's lines as spans of CodeMirror's classes, the same that its editors have. */
export function highlighted(text: string, file: string): ComponentChildren[][] {
  const language = languageOf(file);
  if (!language) return text.split("\n").map((line) => [line]);
  const lines: ComponentChildren[][] = [[]];
  highlightCode(
    text,
    language.parser.parse(text),
    classHighlighter,
    (piece, classes) => lines.at(-1)!.push(classes ? <span class={classes}>{piece}</span> : piece),
    () => lines.push([]),
  );
  return lines;
}
