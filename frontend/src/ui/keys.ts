// Which part of a view takes a key: the one that has the focus, else the first that wants it.
import { createContext } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";

export interface Taker {
  element(): HTMLElement | null;
  key?(key: string): boolean;
  filter?(): boolean;
}

export class Takers {
  readonly #all = new Set<Taker>();

  add(taker: Taker): () => void {
    this.#all.add(taker);
    return () => this.#all.delete(taker);
  }

  key(key: string): boolean {
    return this.#ordered().some((taker) => taker.key?.(key) ?? false);
  }

  filter(): boolean {
    return this.#ordered().some((taker) => taker.filter?.() ?? false);
  }

  #ordered(): Taker[] {
    const has = (taker: Taker): number => Number(taker.element()?.contains(document.activeElement) ?? false);
    return [...this.#all].sort((a, b) => has(b) - has(a));
  }
}

export const TakersContext = createContext(new Takers());

/** Let a component take keys while it is shown. */
export function useKeys(taker: Taker): void {
  const takers = useContext(TakersContext);
  const latest = useRef(taker);
  latest.current = taker;
  useEffect(
    () =>
      takers.add({
        element: () => latest.current.element(),
        key: (key) => latest.current.key?.(key) ?? false,
        filter: () => latest.current.filter?.() ?? false,
      }),
    [takers],
  );
}
