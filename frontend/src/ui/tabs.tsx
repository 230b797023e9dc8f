// Parts of a page, each with an address of its own; h and l go from one to the next.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { go } from "../router";
import { useKeys } from "./keys";

export interface Tab {
  key: string;
  title: string;
  href: string;
  count?: number;
}

export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }): JSX.Element {
  const bar = useRef<HTMLElement>(null);
  const at = tabs.findIndex((tab) => tab.key === current);
  useKeys({
    element: () => bar.current,
    key: (key) => {
      const next = key === "l" ? tabs[at + 1] : key === "h" ? tabs[at - 1] : undefined;
      if (next) go(next.href);
      return Boolean(next);
    },
  });
  return (
    <nav class="tabs no-print" aria-label={label} ref={bar}>
      {tabs.map((tab) => (
        <a href={tab.href} aria-current={tab.key === current ? "page" : undefined}>
          {tab.title}
          {tab.count !== undefined && <span class="count">{tab.count}</span>}
        </a>
      ))}
    </nav>
  );
}

export const TAB_KEYS: [string, string][] = [["h  l", "previous and next part of the page"]];
