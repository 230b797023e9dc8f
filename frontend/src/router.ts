// Where one is: `#kernel/row-b/pass/12?with=3`. Everything that a view shows and another person may want to see
// again stands there.

export interface Route {
  /** The first part: summary, graph, kernel, … */
  page: string;
  /** The other parts, decoded. */
  path: string[];
  query: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const [where = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [page = "", ...path] = where.split("/").map(decode);
  return { page, path, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a page: href("kernel", ["row-b", "pass", 12], {with: 3}). What is undefined or "" is left out. */
export function href(
  page: string,
  path: (string | number)[] = [],
  query: Record<string, string | number | undefined> = {},
): string {
  const said = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const params = new URLSearchParams(said.map(([key, value]) => [key, String(value)])).toString();
  const where = [page, ...path].map((part) => encodeURIComponent(part)).join("/");
  return `#${where}${params && `?${params}`}`;
}

export const link = {
  graph: (name: string) => href("graph", [name]),
  kernel: (name: string) => href("kernel", [name]),
  /** An owner's passes ("graphs/NAME" or "kernels/NAME"), at a step and line, beside another step. */
  pass: (owner: string, step?: number, more: { line?: number | undefined; with?: number | undefined } = {}) => {
    const [kind = "", name = ""] = owner.split("/", 2);
    const where = [step, more.line && `L${more.line}`].filter((part) => part !== undefined);
    return href(kind.replace(/s$/, ""), [name, "pass", ...where], { with: more.with });
  },
  /** A line of the program: "train.py:12". */
  source: (place: string) => {
    const [, file = place, line = ""] = /^(.*):(\d+)$/.exec(place) ?? [];
    return href("source", [file], { line });
  },
  search: (pattern: string) => href("search", [], { q: pattern }),
};

/** Go there; `replace` leaves no step for the back button, for what changes with each keystroke. */
export function go(hash: string, replace = false): void {
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A % that a person typed.
  }
}
