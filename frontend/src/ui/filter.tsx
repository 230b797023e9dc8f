// A field that filters what is below it, and keeps what it says in the address.
import type { ComponentChildren, JSX } from "preact";
import { go, href, type Route } from "../router";
import { Field } from "./field";

interface Props {
  route: Route;
  /** What the filter looks at, in the field while it is empty. */
  hint: string;
  shown: number;
  of: number;
  noun: string;
  children?: ComponentChildren;
}

export function Filter({ route, hint, shown, of, noun, children }: Props): JSX.Element {
  return (
    <div class="filter no-print" role="search">
      <Field value={route.query.q ?? ""} onValue={(q) => go(withQuery(route, { q }), true)} hint={hint} />
      {children}
      <span class="dim" role="status">
        {shown === of ? `${of} ${noun}` : `${shown} of ${of} ${noun}`}
      </span>
    </div>
  );
}

/** Buttons of which any number are on; none means all. */
export function Chips(props: { route: Route; name: string; values: string[]; label: string }): JSX.Element {
  const { route, name, values, label } = props;
  const on = new Set((route.query[name] ?? "").split(",").filter(Boolean));
  const toggle = (value: string): void => {
    const next = values.filter((known) => on.has(known) !== (known === value));
    go(withQuery(route, { [name]: next.join(",") }), true);
  };
  return (
    <span class="chips" role="group" aria-label={label}>
      {values.map((value) => (
        <button type="button" aria-pressed={on.has(value)} onClick={() => toggle(value)}>
          {value}
        </button>
      ))}
    </span>
  );
}

/** The same page with other words in its query. */
export function withQuery(route: Route, change: Record<string, string | undefined>): string {
  return href(route.page, route.path, { ...route.query, ...change });
}

/** Whether each word of a filter stands in the text. */
export function matches(filter: string | undefined, ...texts: string[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return (filter ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
