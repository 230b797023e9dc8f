// Light or dark: the browser's, until the user says otherwise.
import { useEffect, useState } from "preact/hooks";

const KEY = "mlirdev-theme";
export type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

export function theme(): Theme {
  const found = document.documentElement.dataset.theme;
  return found === "light" || found === "dark" ? found : "auto";
}

export function nextTheme(): Theme {
  return setTheme(NEXT[theme()]);
}

export function restoreTheme(): void {
  setTheme(stored());
}

function setTheme(to: Theme): Theme {
  if (to === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = to;
  try {
    localStorage.setItem(KEY, to);
  } catch {
    // A browser may refuse storage to files; then the choice lasts as long as the page.
  }
  return to;
}

function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "auto";
  } catch {
    return "auto";
  }
}

/** A number that changes with the colours: for what is drawn on a canvas. */
export function useRedrawn(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const again = (): void => setCount((n) => n + 1);
    const query = matchMedia("(prefers-color-scheme: dark)");
    query.addEventListener("change", again);
    const observer = new MutationObserver(again);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      query.removeEventListener("change", again);
      observer.disconnect();
    };
  }, []);
  return count;
}
