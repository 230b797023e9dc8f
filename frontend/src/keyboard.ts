// Keys of the shell. A view is asked first; sequences such as "g k" go to a place.
export interface Keys {
  /** Letters after g, and where they go. */
  places: Record<string, string>;
  view(key: string): boolean;
  filter(): void;
  help(): void;
  go(hash: string): void;
}

const PAUSE_MS = 1200;

export function listen(keys: Keys): () => void {
  let started = 0;
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    const isSecond = Date.now() - started < PAUSE_MS;
    started = 0;
    const place = isSecond ? keys.places[event.key] : undefined;
    if (place) keys.go(place);
    else if (event.key === "/") keys.filter();
    else if (event.key === "?") keys.help();
    else if (event.key === "g" && !isSecond) started = Date.now();
    else if (!keys.view(event.key)) return;
    event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))
  );
}
