// A View from a preact component.
import { type ComponentType, createContext, render } from "preact";
import { useContext } from "preact/hooks";
import type { Route } from "../router";
import type { App, View } from "../view";

export interface ViewProps {
  app: App;
  route: Route;
  /** What the view does with keys and "/"; set while rendering. */
  on: { key?: (key: string) => boolean; filter?: () => boolean };
}

const Context = createContext<App | null>(null);

/** The app, in any component below a view. */
export function useApp(): App {
  const app = useContext(Context);
  if (!app) throw new Error("outside of a view");
  return app;
}

export function component(
  Component: ComponentType<ViewProps>,
  about: Pick<View, "title" | "section" | "keys">,
): View {
  return {
    ...about,
    mount(root, first, app) {
      const on: ViewProps["on"] = {};
      const draw = (route: Route): void =>
        render(
          <Context.Provider value={app}>
            <Component app={app} route={route} on={on} />
          </Context.Provider>,
          root,
        );
      draw(first);
      return {
        update: draw,
        unmount: () => render(null, root),
        key: (key) => on.key?.(key) ?? false,
        filter: () => on.filter?.() ?? false,
      };
    },
  };
}
