// CodeMirror that only shows: a text in its language, with lines marked, a column that says what each line stands for, and
// a word about the line that was clicked.
import { EditorState, type Extension, StateEffect, StateField, type Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { syntaxHighlighting } from "@codemirror/language";
import { classHighlighter } from "@lezer/highlight";
import type { Mark } from "../data/marks";
import { languageOf } from "./languages";

/** Which lines, from 1, are marked as linked, which as the one that is meant, and which differ as a whole. */
export interface Marked {
  linked: readonly number[];
  current: readonly number[];
  whole?: readonly number[];
}

const setMarked = StateEffect.define<Marked>();
const linked = Decoration.line({ class: "linked" });
const current = Decoration.line({ class: "current" });
const whole = Decoration.line({ class: "whole" });

const markedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setMarked)) return decorated(transaction.state, effect.value);
    }
    return marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorated(state: EditorState, marked: Marked): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  const add = (lines: readonly number[], decoration: Decoration): void => {
    for (const line of lines) if (line <= state.doc.lines) ranges.push(decoration.range(state.doc.line(line).from));
  };
  add(marked.linked, linked);
  add(marked.current, current);
  add(marked.whole ?? [], whole);
  return Decoration.set(ranges, true);
}

/** Mark these lines, and no others. */
export function mark(view: EditorView, marked: Marked): void {
  view.dispatch({ effects: setMarked.of(marked) });
}

/** Bring a line, from 1, into the middle. */
export function scrollTo(view: EditorView, line: number): void {
  if (line < 1 || line > view.state.doc.lines) return;
  view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }) });
}

/** Whether a line, from 1, is in sight. */
export function isInSight(view: EditorView, line: number): boolean {
  const block = view.lineBlockAt(view.state.doc.line(line).from);
  const top = view.scrollDOM.scrollTop;
  return block.top >= top && block.bottom <= top + view.scrollDOM.clientHeight;
}

class Said extends GutterMarker {
  constructor(
    readonly text: string,
    override readonly elementClass = "",
  ) {
    super();
  }
  override eq(other: Said): boolean {
    return other.text === this.text && other.elementClass === this.elementClass;
  }
  override toDOM(): Node {
    return document.createTextNode(this.text);
  }
}

/** A column beside the text; `say` has the words for a line, from 1, and a class of its own. */
export function column(name: string, say: (line: number) => [text: string, more?: string] | null): Extension {
  return gutter({
    class: `cm-${name}`,
    lineMarker(view, block) {
      const said = say(view.state.doc.lineAt(block.from).number);
      return said && new Said(...said);
    },
  });
}

/** What the lines stand for, as a column: n3, or ? for an op that doesn't say. */
export function marksColumn(marks: Mark[]): Extension {
  return column("marks", (line) => {
    const found = marks[line - 1];
    if (!found) return null;
    const text = found
      .slice(0, 3)
      .map((ordinal) => `n${ordinal}`)
      .join(" ");
    return [found.length ? `${text}${found.length > 3 ? " …" : ""}` : "?"];
  });
}

export interface Options {
  text: string;
  file: string;
  marks?: Mark[] | undefined;
  extra?: Extension;
  /** A line, from 1, was clicked; with a modifier key it is added to those before. */
  onLine?: ((line: number, isAdded: boolean) => void) | undefined;
}

/** The extensions of a view that shows. */
export function showing({ text: _, file, marks, extra, onLine }: Options): Extension[] {
  const language = languageOf(file);
  return [
    lineNumbers(),
    marks ? marksColumn(marks) : [],
    extra ?? [],
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": file }),
    syntaxHighlighting(classHighlighter),
    language ?? [],
    markedLines,
    onLine ? clicks(onLine) : [],
  ];
}

function clicks(onLine: (line: number, isAdded: boolean) => void): Extension {
  return EditorView.domEventHandlers({
    click(event, view) {
      // A selection that was drawn with the mouse is no click.
      if (!view.state.selection.main.empty || !getSelection()?.isCollapsed) return;
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
      onLine(view.state.doc.lineAt(at).number, event.ctrlKey || event.metaKey || event.shiftKey);
    },
  });
}
