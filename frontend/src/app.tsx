// The shell: navigation, the view of the current route, keys, help.
import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Data } from "./data/store";
import { listen } from "./keyboard";
import { go, href, parseRoute } from "./router";
import { nextTheme, theme } from "./theme";
import { Help } from "./ui/help";
import type { App, Mounted, View } from "./view";
import { start as startHash, viewOf } from "./views";

interface Entry {
  section: string;
  key: string;
  count?: (data: Data) => number;
}

// The key comes after g.
const NAV: Entry[] = [
  { section: "failures", key: "f", count: (data) => data.page.failures.length },
  { section: "summary", key: "s" },
  { section: "graphs", key: "g", count: (data) => data.page.graphs.length },
  { section: "kernels", key: "k", count: (data) => data.page.summary.kernels.length },
  { section: "source", key: "p", count: (data) => data.page.sources.length },
  { section: "timeline", key: "t" },
  { section: "search", key: "r" },
];

export function start(root: HTMLElement, data: Data): void {
  if (!location.hash) history.replaceState(null, "", startHash(data));
  render(<Shell app={{ data }} />, root);
}

function Shell({ app }: { app: App }): JSX.Element {
  const route = useRoute();
  const view = viewOf(route);
  const outlet = useRef<HTMLDivElement>(null);
  const mounted = useRef<{ view: View; it: Mounted }>(undefined);
  const [isHelping, setHelping] = useState(false);

  useEffect(() => {
    document.title = `${view.title(route)} · ${app.data.page.title} · mlirdev`;
    if (mounted.current?.view === view) {
      mounted.current.it.update(route);
      return;
    }
    if (mounted.current) {
      mounted.current.it.unmount();
      window.scrollTo(0, 0);
      outlet.current!.focus({ preventScroll: true });
    }
    mounted.current = { view, it: view.mount(outlet.current!, route, app) };
  }, [route]);

  useEffect(
    () =>
      listen({
        places: Object.fromEntries(NAV.map(({ section, key }) => [key, href(section)])),
        view: (key) => mounted.current?.it.key?.(key) ?? false,
        filter: () => mounted.current?.it.filter?.() || go(href("search")),
        help: () => setHelping((is) => !is),
        go,
      }),
    [],
  );

  return (
    <>
      <Header data={app.data} section={view.section} onHelp={() => setHelping(true)} />
      <main ref={outlet} tabIndex={-1} />
      {isHelping && <Help places={NAV} keys={view.keys ?? []} onClose={() => setHelping(false)} />}
    </>
  );
}

function Header(props: { data: Data; section: string; onHelp: () => void }): JSX.Element {
  const { data, section } = props;
  const entries = NAV.filter((entry) => entry.section !== "failures" || data.page.failures.length);
  return (
    <header>
      <p class="title" title={data.page.title}>
        {data.page.title}
      </p>
      <nav aria-label="views">
        {entries.map((entry) => (
          <a href={href(entry.section)} aria-current={entry.section === section ? "page" : undefined}>
            {entry.section}
            {entry.count && <span class="count">{entry.count(data)}</span>}
          </a>
        ))}
      </nav>
      <ThemeButton />
      <button type="button" class="quiet" aria-label="help" title="keys (?)" onClick={props.onHelp}>
        ?
      </button>
    </header>
  );
}

function ThemeButton(): JSX.Element {
  const [current, setCurrent] = useState(theme());
  return (
    <button type="button" class="quiet" title="light, dark, or as the browser" onClick={() => setCurrent(nextTheme())}>
      {current}
    </button>
  );
}

function useRoute(): ReturnType<typeof parseRoute> {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onChange = (): void => setRoute(parseRoute(location.hash));
    window.addEventListener("hashchange", onChange);
    return () => window.removeEventListener("hashchange", onChange);
  }, []);
  return route;
}
