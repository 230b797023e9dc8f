import type { JSX } from "preact";
import { component, type ViewProps } from "../ui/component";

function View({ route }: ViewProps): JSX.Element {
  return <p>graph {route.path.join(" ")}</p>;
}

export const graph = component(View, { title: (route) => route.path[0] ?? "graph", section: "graphs" });
