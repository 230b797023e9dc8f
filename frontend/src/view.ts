// What a view is. The shell mounts one, tells it when the route changes within it, and takes it away.
import type { Data } from "./data/store";
import type { Route } from "./router";

export interface App {
  readonly data: Data;
}

export interface Mounted {
  /** The route has changed, and this view still shows it. */
  update(route: Route): void;
  unmount(): void;
  /** A key that the shell has no use for; true where it was taken. Names as in KeyboardEvent.key. */
  key?(key: string): boolean;
  /** Put the cursor into the view's filter ("/"); false where it has none. */
  filter?(): boolean;
}

export interface View {
  /** The document's title, and what the navigation marks: one of `nav` in app.tsx. */
  title(route: Route): string;
  section: string;
  /** Keys of this view's own, for the help: ["n", "next difference"]. */
  keys?: [string, string][];
  mount(root: HTMLElement, route: Route, app: App): Mounted;
}
