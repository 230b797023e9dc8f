// A View from a preact component.
import { type ComponentType, createContext, render } from "preact";
import { useContext } from "preact/hooks";
import type { Route } from "../router";
import type { App, View } from "../view";
import { Takers, TakersContext } from "./keys";

export interface ViewProps {
  app: App;
  route: Route;
}

const AppContext = createContext<App | null>(null);

/** The app, in any component below a view. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("outside of a view");
  return app;
}

export function component(Component: ComponentType<ViewProps>, about: Pick<View, "title" | "section" | "keys">): View {
  return {
    ...about,
    mount(root, first, app) {
      const takers = new Takers();
      const draw = (route: Route): void =>
        render(
          <AppContext.Provider value={app}>
            <TakersContext.Provider value={takers}>
              <Component app={app} route={route} />
            </TakersContext.Provider>
          </AppContext.Provider>,
          root,
        );
      draw(first);
      return {
        update: draw,
        unmount: () => render(null, root),
        key: (key) => takers.key(key),
        filter: () => takers.filter(),
      };
    },
  };
}
