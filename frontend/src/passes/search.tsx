// A regular expression over all passes of the owner: where it is found, and on to the whole record.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Owner } from "../data/store";
import { plural } from "../format";
import { link } from "../router";
import { bare } from "./list";

interface Props {
  owner: Owner;
  onHit: (step: number, line: number) => void;
  onClose: () => void;
}

const MOST = 1000;
const PAUSE_MS = 120;

export function Search({ owner, onHit, onClose }: Props): JSX.Element {
  const [pattern, setPattern] = useState("");
  const [current, setCurrent] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const settled = useSettled(pattern);
  const found = useMemo(() => find(owner, settled), [owner, settled]);
  useEffect(() => input.current?.focus(), []);
  const show = (at: number): void => {
    const hit = found.hits[at];
    if (!hit) return;
    setCurrent(at);
    onHit(hit.step, hit.line);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
    if (event.key === "Enter") show((current + (event.shiftKey ? -1 : 1) + found.hits.length) % found.hits.length);
  };
  return (
    <section class="find" aria-label="find in all passes">
      <div class="bar">
        <input
          ref={input}
          type="search"
          placeholder="regular expression, over all passes"
          aria-label="regular expression"
          value={pattern}
          onInput={(event) => setPattern(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <span class={found.error ? "bad" : "dim"}>{found.error || count(found.hits.length, settled)}</span>
        {settled && !found.error && <a href={link.search(settled)}>in the whole record</a>}
        <button type="button" class="quiet" onClick={onClose} aria-label="close">
          ×
        </button>
      </div>
      <ol class="plain hits">
        {found.hits.map((hit, k) => (
          <li aria-current={k === current ? "true" : undefined} onClick={() => show(k)}>
            <span class="dim">
              {hit.step} {bare(owner.step(hit.step)?.name ?? "")}:{hit.line}
            </span>{" "}
            <code>{hit.text.trim().slice(0, 300)}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}

function find(owner: Owner, pattern: string): { hits: ReturnType<Owner["search"]>; error: string } {
  if (!pattern) return { hits: [], error: "" };
  try {
    return { hits: owner.search(new RegExp(pattern), MOST), error: "" };
  } catch (error) {
    return { hits: [], error: error instanceof Error ? error.message : String(error) };
  }
}

function count(hits: number, pattern: string): string {
  if (!pattern) return "";
  return hits >= MOST ? `the first ${plural(MOST, "line")}` : plural(hits, "line");
}

/** A value once it has stayed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
